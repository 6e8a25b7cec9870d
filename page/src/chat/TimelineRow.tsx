import { memo } from "react";
import type { Item } from "../api/types";
import { ApprovalGroup } from "../approvals/ApprovalGroup";
import togetherClasses from "../calls/Calls.module.css";
import { ToolCall } from "../calls/ToolCall";
import { RunChanges } from "../diff/RunChanges";
import { useApp } from "../store/store";
import classes from "./Chat.module.css";
import { Compaction, Notice, Reminder } from "./Notice";
import { Question } from "./Question";
import { Response } from "./Response";
import { RunEnd } from "./RunEnd";
import { holds, type Row } from "./rows";
import { Sturdy } from "./Sturdy";
import { Thinking } from "./Thinking";
import { UserMessage } from "./UserMessage";

const views: Record<Item["kind"], (props: { item: Item }) => React.ReactNode> = {
  user_message: UserMessage,
  response: Response,
  thinking: Thinking,
  tool_call: ToolCall,
  tool_summary: Notice,
  question: Question,
  notice: Notice,
  compaction: Compaction,
  reminder: Reminder,
};

function ItemRow({ itemId, isTarget }: { itemId: string; isTarget: boolean }) {
  const item = useApp((state) => state.open?.items.get(itemId));
  const View = item && views[item.kind];
  if (!item || !View) return null;
  return (
    <div id={`item-${itemId}`} className={classes.row} data-kind={item.kind} data-target={isTarget || undefined}>
      <Sturdy item={item}>
        <View item={item} />
      </Sturdy>
    </div>
  );
}

/** Calls of one answer, side by side. */
function CallsRow({ itemIds, target }: { itemIds: readonly string[]; target: string | null }) {
  return (
    <div className={togetherClasses.together}>
      {itemIds.map((itemId) => (
        <ItemRow key={itemId} itemId={itemId} isTarget={itemId === target} />
      ))}
    </div>
  );
}

/** Questions about calls: one card for those of the same shape. */
function ApprovalsRow({ itemIds, target }: { itemIds: readonly string[]; target: string | null }) {
  const first = useApp((state) => state.open?.items.get(itemIds[0] ?? ""));
  if (!first) return null;
  const isTarget = target !== null && itemIds.includes(target);
  return (
    <div id={`item-${first.id}`} className={classes.row} data-kind="question" data-target={isTarget || undefined}>
      <Sturdy item={first}>
        <ApprovalGroup itemIds={itemIds} />
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

function ChangesRow({ runId, itemIds }: { runId: string; itemIds: readonly string[] }) {
  return (
    <div className={classes.row}>
      <RunChanges runId={runId} itemIds={itemIds} />
    </div>
  );
}

/** One line of the timeline. */
export const TimelineRow = memo(
  ({ row, target }: { row: Row; target: string | null }) => {
    if (row.kind === "item") return <ItemRow itemId={row.itemId} isTarget={row.itemId === target} />;
    if (row.kind === "calls") return <CallsRow itemIds={row.itemIds} target={target} />;
    if (row.kind === "approvals") return <ApprovalsRow itemIds={row.itemIds} target={target} />;
    if (row.kind === "changes") return <ChangesRow runId={row.runId} itemIds={row.itemIds} />;
    return <EndRow runId={row.runId} isLatest={row.isLatest} />;
  },
  (a, b) => {
    // A call becomes one of several when the model asks for another in the same answer.
    if (a.row.kind !== b.row.kind || a.row.key !== b.row.key) return false;
    if (holds(a.row, a.target) !== holds(b.row, b.target)) return false;
    if ("itemIds" in a.row && "itemIds" in b.row) return a.row.itemIds.length === b.row.itemIds.length;
    return a.row.kind !== "end" || b.row.kind !== "end" || a.row.isLatest === b.row.isLatest;
  },
);
