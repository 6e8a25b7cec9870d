import { memo } from "react";
import type { Item } from "../api/types";
import { useApp } from "../store/store";
import classes from "./Chat.module.css";
import { Compaction, Notice } from "./Notice";
import { Question } from "./Question";
import { Response } from "./Response";
import { RunEnd } from "./RunEnd";
import type { Row } from "./rows";
import { Sturdy } from "./Sturdy";
import { Thinking } from "./Thinking";
import { ToolCall } from "./ToolCall";
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

function EndRow({ runId, isLatest }: { runId: string; isLatest: boolean }) {
  const run = useApp((state) => state.open?.runs.get(runId));
  if (!run) return null;
  return (
    <div className={classes.row}>
      <RunEnd run={run} isLatest={isLatest} />
    </div>
  );
}

/** One line of the timeline. */
export const TimelineRow = memo(
  ({ row, target }: { row: Row; target: string | null }) =>
    row.kind === "item" ? (
      <ItemRow itemId={row.itemId} isTarget={row.itemId === target} />
    ) : (
      <EndRow runId={row.runId} isLatest={row.isLatest} />
    ),
  (a, b) => {
    if (a.row.key !== b.row.key || (a.target === a.row.key) !== (b.target === b.row.key)) return false;
    return a.row.kind !== "end" || b.row.kind !== "end" || a.row.isLatest === b.row.isLatest;
  },
);
