import { memo } from "react";
import { Activity } from "../activity/Activity";
import type { Item } from "../api/types";
import { AnswerActions } from "../branches/MessageActions";
import { Hidden } from "../branches/Hidden";
import { RunChanges } from "../diff/RunChanges";
import { StoredMemories } from "../memory/StoredMemories";
import { useApp } from "../store/store";
import classes from "./Chat.module.css";
import { Compaction } from "./Compaction";
import { Notice } from "./Notice";
import { AnsweredQuestion } from "./Question";
import { Response } from "./Response";
import { RunEnd } from "./RunEnd";
import { holds, type Foot, type Row } from "./rows";
import { Sturdy } from "./Sturdy";
import { UserMessage } from "./UserMessage";

const nothing: readonly string[] = [];

const isSame = (a: readonly string[] = nothing, b: readonly string[] = nothing) =>
  a.length === b.length && a.every((id, at) => id === b[at]);

/** Tell whether an item is a piece of a run's answer. */
const isPiece = (item: Item | undefined, runId: string) =>
  item?.runId === runId && (item.kind === "response" || item.kind === "tool_call" || item.kind === "thinking");

const isSameFoot = (a?: Foot, b?: Foot) => a?.runId === b?.runId && a?.messageId === b?.messageId;

/** An item by its kind; one that only a newer server knows is left out. */
function View({ item, more, foot }: Pick<ItemRowProps, "foot"> & { item: Item; more: readonly string[] }) {
  switch (item.kind) {
    case "user_message":
      return <UserMessage item={item} />;
    case "response":
      return <Response item={item} more={more} foot={foot} />;
    case "question":
      return <AnsweredQuestion item={item} />;
    case "notice":
      return <Notice item={item} />;
    case "compaction":
      return <Compaction item={item} />;
    default:
      return null;
  }
}

interface ItemRowProps {
  itemId: string;
  /** What goes on where it was cut. */
  more?: readonly string[] | undefined;
  foot?: Foot | undefined;
  isTarget: boolean;
}

function ItemRow({ itemId, more = nothing, foot, isTarget }: ItemRowProps) {
  const item = useApp((state) => state.open?.items.get(itemId));
  if (!item) return null;
  return (
    <div id={`item-${itemId}`} className={classes.row} data-kind={item.kind} data-target={isTarget || undefined}>
      <Sturdy item={item}>
        <View item={item} more={more} foot={foot} />
      </Sturdy>
    </div>
  );
}

function EndRow({ runId, isLatest }: { runId: string; isLatest: boolean }) {
  const run = useApp((state) => state.open?.runs.get(runId));
  if (!run) return null;
  return (
    <div className={classes.row}>
      <RunEnd run={run} isLatest={isLatest} />
    </div>
  );
}

/** What can be done about an answer that ends without words, or is on its way. */
function FootRow({ foot }: { foot: Foot }) {
  const itemId = useApp(({ open }) => open?.order.findLast((id) => isPiece(open.items.get(id), foot.runId)) ?? null);
  return (
    <div className={`${classes.row} ${classes.footRow}`}>
      <div className={classes.footer} data-quiet>
        <AnswerActions foot={foot} said="" itemId={itemId} />
      </div>
    </div>
  );
}

function ChangesRow({ runId, itemIds }: { runId: string; itemIds: readonly string[] }) {
  return (
    <div className={classes.row}>
      <RunChanges runId={runId} itemIds={itemIds} />
    </div>
  );
}

function MemoriesRow({ itemIds }: { itemIds: readonly string[] }) {
  return (
    <div className={classes.row}>
      <StoredMemories itemIds={itemIds} />
    </div>
  );
}

/** One line of the timeline. */
export const TimelineRow = memo(
  ({ row, target }: { row: Row; target: string | null }) => {
    if (row.kind === "item") return <ItemRow itemId={row.itemId} more={row.more} foot={row.foot} isTarget={holds(row, target)} />;
    if (row.kind === "foot") return <FootRow foot={row.foot} />;
    if (row.kind === "hidden")
      return (
        <div id={`item-${row.itemId}`} className={classes.row} data-target={holds(row, target) || undefined}>
          <Hidden itemId={row.itemId} messageId={row.messageId} isMessage={row.isMessage} />
        </div>
      );
    if (row.kind === "activity") {
      const { key, itemIds, tells } = row;
      return <Activity name={`activity-${key}`} itemIds={itemIds} tells={tells} target={holds(row, target) ? target : null} />;
    }
    if (row.kind === "changes") return <ChangesRow runId={row.runId} itemIds={row.itemIds} />;
    if (row.kind === "memories") return <MemoriesRow itemIds={row.itemIds} />;
    return <EndRow runId={row.runId} isLatest={row.isLatest} />;
  },
  (a, b) => {
    if (a.row.kind !== b.row.kind || a.row.key !== b.row.key) return false;
    // From one step to another of the same list.
    if ((holds(a.row, a.target) || holds(b.row, b.target)) && a.target !== b.target) return false;
    // What goes on where an answer was cut may break off, and another attempt takes its place.
    if (a.row.kind === "item" && b.row.kind === "item") return isSame(a.row.more, b.row.more) && isSameFoot(a.row.foot, b.row.foot);
    if (a.row.kind === "foot" && b.row.kind === "foot") return isSameFoot(a.row.foot, b.row.foot);
    if (a.row.kind === "activity" && b.row.kind === "activity" && a.row.tells !== b.row.tells) return false;
    if ("itemIds" in a.row && "itemIds" in b.row) return isSame(a.row.itemIds, b.row.itemIds);
    return a.row.kind !== "end" || b.row.kind !== "end" || a.row.isLatest === b.row.isLatest;
  },
);
