import { asks, isOpen } from "../api/items";
import type { Item, Run } from "../api/types";

/** A line of the timeline: an item (with what goes on where it was cut), what was done between two things that were said
 * (at the end it tells what is awaited, once it has more than one step), what a run changed or remembered, or how it
 * ended, below its last item. */
export type Row =
  | { kind: "item"; key: string; itemId: string; more?: readonly string[] }
  | { kind: "activity"; key: string; itemIds: readonly string[]; tells: boolean }
  | { kind: "changes"; key: string; runId: string; itemIds: readonly string[] }
  | { kind: "memories"; key: string; itemIds: readonly string[] }
  | { kind: "end"; key: string; runId: string; isLatest: boolean };

/** Tell whether an item stands in this line. */
export function holds(row: Row, itemId: string | null): boolean {
  if (itemId === null || row.kind === "end" || row.kind === "changes" || row.kind === "memories") return false;
  if (row.kind === "item") return row.itemId === itemId || (row.more?.includes(itemId) ?? false);
  return row.itemIds.includes(itemId);
}

/** Return the name of the line that an item stands in: an answer that was cut has what goes on there in its own, and what
 * was done has all of it in one. */
export function placeOf(rows: readonly Row[], itemId: string): string {
  const row = rows.find((each) => holds(each, itemId));
  if (row?.kind === "activity") return `activity-${row.key}`;
  return `item-${row?.kind === "item" ? row.itemId : itemId}`;
}

const needsWords = (run: Run) => run.status === "failed" || run.status === "interrupted" || run.status === "cancelled";

/** Tell whether a run has ended; of one that is no longer known, nothing is under way. */
const isOver = (run: Run | undefined) => !run || !["queued", "running", "waiting"].includes(run.status);

/** Return the run whose message came last, save those that wait behind it: they do not keep it from going on. */
export function latestRun(runs: ReadonlyMap<string, Run>): Run | null {
  let latest: Run | null = null;
  for (const run of runs.values())
    if (run.status !== "queued" && (!latest || run.createdAt >= latest.createdAt)) latest = run;
  return latest;
}

/** Tell whether an item was added to a run that was over: that its changes were undone is told where everyone is by then. */
const isAfterwards = (item: Item) =>
  (item.kind === "notice" && item.data.code === "undone") || (item.kind === "reminder" && item.data.name === "undone");

function lastItems(order: readonly string[], items: ReadonlyMap<string, Item>, runs: ReadonlyMap<string, Run>) {
  const last = new Map<string, string>();
  const messages = new Map([...runs.values()].map((run) => [run.messageItemId, run.id]));
  for (const id of order) {
    const item = items.get(id);
    const runId = item?.runId ?? messages.get(id);
    if (runId && !(item && isAfterwards(item))) last.set(runId, id);
  }
  return last;
}

/** Return the calls of each run that is over that changed files. */
function changers(order: readonly string[], items: ReadonlyMap<string, Item>, runs: ReadonlyMap<string, Run>) {
  const found = new Map<string, string[]>();
  for (const id of order) {
    const item = items.get(id);
    const { changes = [] } = item?.kind === "tool_call" ? item.data : {};
    const runId = item?.runId;
    if (!runId || !changes.length || !isOver(runs.get(runId))) continue;
    found.set(runId, [...(found.get(runId) ?? []), id]);
  }
  return found;
}

/** Return the calls of each run that did something about a memory: that is seen without opening anything. */
function rememberers(order: readonly string[], items: ReadonlyMap<string, Item>) {
  const found = new Map<string, string[]>();
  for (const id of order) {
    const item = items.get(id);
    if (item?.kind !== "tool_call" || !item.data.memory || !item.runId) continue;
    found.set(item.runId, [...(found.get(item.runId) ?? []), id]);
  }
  return found;
}

/** Tell whether an item is something that was done and not said: it needs no line of its own. */
const isDone = (item: Item) =>
  item.kind === "tool_call" || item.kind === "thinking" || item.kind === "reminder" || asks(item, "approval");

/** Tell whether there is nothing to see of an item: a turn of calls alone says nothing, and what was tried again is over. */
function isNothing(item: Item): boolean {
  // It stands below its call.
  if (item.kind === "tool_summary") return true;
  if (isOpen(item)) return false;
  if (item.kind === "notice") return item.data.code === "retrying";
  // Nothing was summed up after all; the end of its run tells why.
  if (item.kind === "compaction") return item.status !== "completed";
  return item.kind === "response" && !item.text.trim() && !item.data.content?.length;
}

/** Put what was done into the line of what was done before it, or begin one. */
function act(rows: Row[], item: Item, items: ReadonlyMap<string, Item>): void {
  const last = rows.at(-1);
  const first = last?.kind === "activity" ? items.get(last.itemIds[0] ?? "") : undefined;
  if (last?.kind === "activity" && first?.runId === item.runId) (last.itemIds as string[]).push(item.id);
  else rows.push({ kind: "activity", key: item.id, itemIds: [item.id], tells: false });
}

/** Put an answer that goes on where another was cut into the line of that one; tell whether it was there. */
function goesOn(rows: Row[], item: Item | undefined): boolean {
  const { continues, cutOff } = item?.kind === "response" ? item.data : {};
  const before = cutOff ? "" : continues;
  const at = before ? rows.findLastIndex((row) => row.kind === "item" && holds(row, before)) : -1;
  const row = rows[at];
  if (!item || row?.kind !== "item") return false;
  rows[at] = { ...row, more: [...(row.more ?? []), item.id] };
  return true;
}

/** Return the timeline's lines in order. */
export function rowsOf(
  order: readonly string[],
  items: ReadonlyMap<string, Item>,
  runs: ReadonlyMap<string, Run>,
): Row[] {
  const latest = latestRun(runs);
  const changed = changers(order, items, runs);
  const remembered = rememberers(order, items);
  const after = new Map<string, Row[]>();
  for (const [runId, itemId] of lastItems(order, items, runs)) {
    const run = runs.get(runId);
    const itemIds = changed.get(runId);
    const rows: Row[] = [];
    const memories = remembered.get(runId);
    if (memories) rows.push({ kind: "memories", key: `memories-${runId}`, itemIds: memories });
    if (itemIds) rows.push({ kind: "changes", key: `changes-${runId}`, runId, itemIds });
    if (run && needsWords(run)) rows.push({ kind: "end", key: `end-${runId}`, runId, isLatest: run === latest });
    after.set(itemId, rows);
  }
  const rows: Row[] = [];
  for (const itemId of order) {
    const item = items.get(itemId);
    if (item && isDone(item)) act(rows, item, items);
    else if (!goesOn(rows, item) && !(item && isNothing(item))) rows.push({ kind: "item", key: itemId, itemId });
    rows.push(...(after.get(itemId) ?? []));
  }
  const last = rows.at(-1);
  if (last?.kind === "activity") last.tells = last.itemIds.filter((id) => items.get(id)?.kind !== "question").length > 1;
  return rows;
}
