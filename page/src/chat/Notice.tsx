import { isOpen } from "../api/items";
import type { NoticeItem, ReminderItem } from "../api/types";
import { SetAside } from "../diff/SetAside";
import { InfoIcon, WarningIcon } from "../shell/icons";
import { PageLink } from "../shell/links";
import { conversationPath } from "../shell/router";
import { Said } from "../shell/Said";
import classes from "./Chat.module.css";
import { useNow } from "./Elapsed";
import { Fold, type Toggled } from "./Fold";
import { LongText } from "./LongText";
import { CutShort } from "./RunEnd";

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
export function Notice({ item }: { item: NoticeItem }) {
  const { level = "info", code, until } = item.data;
  const isAwaited = isOpen(item);
  if (!isAwaited && code === "retrying") return null;
  if (code === "cut_short") return <CutShort item={item} />;
  const said = (
    <p className={`ph-with-icon ${classes.notice}`} data-level={level} role={isAwaited ? "status" : undefined}>
      {level === "info" ? <InfoIcon size={15} /> : <WarningIcon size={15} />}
      <span>
        <Said text={sentence(item.text)} />
        {isAwaited && until && <Countdown until={until} />}
        {code === "copied_from" && item.data.conversation && (
          <>
            {" "}
            <PageLink path={conversationPath(item.data.conversation)}>Open the other one</PageLink>
          </>
        )}
      </span>
    </p>
  );
  if (code !== "set_aside") return said;
  return (
    <div role="group" aria-label="Set aside">
      {said}
      <SetAside item={item} />
    </div>
  );
}

/** What the model is told again besides the person's words; one quiet line. */
export function Reminder({ item, onToggle }: { item: ReminderItem; onToggle?: Toggled }) {
  const { name } = item.data;
  const summary = name ? "Reminder to the model" : "An earlier answer goes on here";
  return (
    <Fold icon={<InfoIcon size={15} />} summary={summary} onToggle={onToggle}>
      {() => <LongText text={item.text} label="What the model is told" />}
    </Fold>
  );
}
