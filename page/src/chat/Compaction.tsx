import { isOpen } from "../api/items";
import type { CompactionItem } from "../api/types";
import { InfoIcon } from "../shell/icons";
import { PageLink } from "../shell/links";
import { itemPath } from "../shell/router";
import classes from "./Chat.module.css";
import { Elapsed } from "./Elapsed";
import { Fold } from "./Fold";
import { Prose } from "./Prose";
import { summedUp } from "./words";

/** Go to where the original begins, also when the address says already that the page is there. */
function Original({ item }: { item: CompactionItem }) {
  const { begins } = item.data;
  if (!begins) return null;
  const again = () => document.getElementById(`item-${begins}`)?.scrollIntoView({ block: "start" });
  return (
    <p className={classes.original} onClick={again}>
      <PageLink path={itemPath(item.conversationId, begins)}>Show what it replaced</PageLink>
      <span>It all stays in this conversation; the model can look things up in it.</span>
    </p>
  );
}

/** Where older turns were replaced by their summary for the model; the person still sees them all. */
export function Compaction({ item }: { item: CompactionItem }) {
  if (isOpen(item)) {
    return (
      <p className={classes.pending} role="status">
        <span className={classes.pulse} /> Summing up older turns… <Elapsed since={item.createdAt * 1000} />
      </p>
    );
  }
  const { noted, by } = item.data;
  return (
    <Fold icon={<InfoIcon size={15} />} summary={summedUp(item)}>
      {() => (
        <>
          {by === "excerpt" && <p>The model wrote no summary, so these are the beginning and the end of what was said.</p>}
          <Prose text={item.text} isStreaming={false} />
          {noted && <div className={classes.noted}>{noted}</div>}
          <Original item={item} />
        </>
      )}
    </Fold>
  );
}
