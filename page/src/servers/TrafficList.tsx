import { memo, useState } from "react";
import type { TrafficMessage } from "../api/types";
import { LongText } from "../chat/LongText";
import { size } from "../chat/words";
import { JsonTree } from "../json/JsonTree";
import { CopyButton } from "../shell/CopyButton";
import { ArrowDownIcon, ArrowUpIcon } from "../shell/icons";
import { ShowMore } from "../shell/More";
import classes from "./Rooms.module.css";
import { moment } from "../shell/time";
import { latency } from "./words";

/** Messages drawn before someone asks for more; the newest are on top. */
const PAGE = 200;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function Body({ message }: { message: TrafficMessage }) {
  const data = parsed(message.text);
  if (typeof data !== "object" || data === null) return <LongText text={message.text} label="Message" />;
  return (
    <div className={classes.message}>
      <div className={classes.messageHead}>
        <CopyButton value={JSON.stringify(data, null, 2)} label="Copy message" />
      </div>
      <JsonTree value={data} label="Message" />
    </div>
  );
}

function Message({ message }: { message: TrafficMessage }) {
  const [isOpen, setOpen] = useState(false);
  const isOut = message.direction === "out";
  return (
    <li className={classes.traffic} data-kind={message.kind}>
      <button type="button" className={classes.trafficLine} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <time>{moment(message.at)}</time>
        <span className={classes.direction} data-direction={message.direction} title={isOut ? "sent" : "received"}>
          {isOut ? <ArrowUpIcon size={13} /> : <ArrowDownIcon size={13} />}
          <span className="ph-hidden">{isOut ? "sent" : "received"}</span>
        </span>
        <span className={classes.trafficServer}>{message.server}</span>
        <span className={classes.method}>{message.method || message.kind}</span>
        <span className={classes.trafficKind}>{message.kind}</span>
        <span className={classes.numbers}>
          {message.id && `#${message.id} · `}
          {size(message.bytes)}
          {message.seconds !== null && ` · ${latency(message.seconds)}`}
        </span>
      </button>
      {isOpen && <Body message={message} />}
    </li>
  );
}

const Row = memo(Message);

/** Messages, the newest first. */
export function TrafficList({ messages }: { messages: readonly TrafficMessage[] }) {
  const [shown, setShown] = useState(PAGE);
  const newest = messages.slice(-shown).reverse();
  return (
    <>
      <ol className={classes.trafficList} aria-label="Messages, newest first">
        {newest.map((message) => (
          <Row key={message.seq} message={message} />
        ))}
      </ol>
      <ShowMore left={messages.length - shown} word="older" onMore={() => setShown(shown + 5 * PAGE)} />
    </>
  );
}
