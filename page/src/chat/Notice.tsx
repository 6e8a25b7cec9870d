import type { Item } from "../api/types";
import { InfoIcon, WarningIcon } from "../shell/icons";
import { Said } from "../shell/Said";
import classes from "./Chat.module.css";
import { text, untilOf } from "./data";
import { useNow } from "./Elapsed";
import { Fold } from "./Fold";
import { LongText } from "./LongText";
import { Prose } from "./Prose";

function Countdown({ until }: { until: number }) {
  const now = useNow(250);
  const left = Math.ceil(until - now / 1000);
  return <> {left > 0 ? `Trying again in ${left} s.` : "Trying again now."}</>;
}

/** Return a provider's words as a sentence that another can follow. */
const sentence = (words: string) => (/[.!?…]$/.test(words) ? words : `${words}.`);

/** A sentence about what happens: a wait, a limit, a repetition.
 *
 * That something is tried again counts while it is awaited: after that the answer is there, or its failure says why.
 */
export function Notice({ item }: { item: Item }) {
  const level = text(item.data.level) || "info";
  const until = untilOf(item);
  const isOpen = item.status === "waiting" || item.status === "streaming";
  if (!isOpen && item.data.code === "retrying") return null;
  return (
    <p className={classes.notice} data-level={level} role={isOpen ? "status" : undefined}>
      {level === "info" ? <InfoIcon size={15} /> : <WarningIcon size={15} />}
      <span>
        <Said text={sentence(item.text)} />
        {isOpen && until !== null && <Countdown until={until} />}
      </span>
    </p>
  );
}

/** Where older turns were replaced by their summary for the model; the person still sees them all. */
export function Compaction({ item }: { item: Item }) {
  return (
    <Fold icon={<InfoIcon size={15} />} summary="The model now reads a summary of everything above">
      {() => <Prose text={item.text} isStreaming={false} />}
    </Fold>
  );
}

/** What the model is told again besides the person's words; one quiet line. */
export function Reminder({ item }: { item: Item }) {
  const summary = text(item.data.name) ? "Reminder to the model" : "An earlier answer goes on here";
  return (
    <Fold icon={<InfoIcon size={15} />} summary={summary}>
      {() => <LongText text={item.text} label="What the model is told" />}
    </Fold>
  );
}
