import { asks, isOpen } from "../api/items";
import type { Item, Run } from "../api/types";
import type { BranchPlace } from "../store/places";

/** What can be done about the answer of a run. */
export interface Foot {
  runId: string;
  /** The message that it answers, if that is here. */
  messageId: string | null;
}

/** A line of the timeline: an item (with what goes on where it was cut), what was done between two things that were said
 * (at the end it tells what is awaited, once it has more than one step), what a run changed or remembered, or how it
 * ended, below its last item. The last words of an answer carry what can be done about it; an answer that ends with none
 * has a line for that. What was hidden is one line, however much it was. */
export type Row =
  | { kind: "item"; key: string; itemId: string; more?: readonly string[]; foot?: Foot }
  | { kind: "foot"; key: string; foot: Foot }
  | { kind: "hidden"; key: string; itemId: string; runId: string | null; messageId: string | null; isMessage: boolean }
  | { kind: "activity"; key: string; itemIds: readonly string[]; tells: boolean }
  | { kind: "changes"; key: string; runId: string; itemIds: readonly string[] }
  | { kind: "memories"; key: string; itemIds: readonly string[] }
  | { kind: "end"; key: string; runId: string; isLatest: boolean };

/** Tell whether an item stands in this line. */
export function holds(row: Row, itemId: string | null): boolean {
  if (itemId === null) return false;
  if (row.kind === "item") return row.itemId === itemId || (row.more?.includes(itemId) ?? false);
  if (row.kind === "hidden") return row.itemId === itemId;
  return row.kind === "activity" && row.itemIds.includes(itemId);
}

/** Return the name of the line that an item stands in: an answer that was cut has what goes on there in its own, and what
 * was done has all of it in one. */
export function placeOf(rows: readonly Row[], itemId: string): string {
  const row = rows.find((each) => holds(each, itemId));
  if (row?.kind === "activity") return `activity-${row.key}`;
  return `item-${row?.kind === "item" ? row.itemId : itemId}`;
}

/** Tell whether how a run ended has to be said. */
export const needsWords = (run: Run) => run.status === "failed" || run.status === "interrupted" || run.status === "cancelled";

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

/** Return the items up to a place: up to a run's and with them, or up to its message, without those of messages that came
 * after. */
function upTo(order: readonly string[], items: ReadonlyMap<string, Item>, { runId, instead }: Until): readonly string[] {
  const isMessage = (id: string) => items.get(id)?.kind === "user_message";
  const own = order.findIndex((id) => isMessage(id) && items.get(id)?.runId === runId);
  const next = instead ? own : order.findIndex((id, at) => at > own && isMessage(id));
  if (own < 0 || next < 0) return order;
  const later = new Set(order.slice(next).filter(isMessage).map((id) => items.get(id)?.runId));
  return order.filter((id, at) => at < next || (items.get(id)?.runId && !later.has(items.get(id)?.runId ?? null)));
}

/** Return what can be done about the answer of each run; a command of the person has none. */
function feet(order: readonly string[], items: ReadonlyMap<string, Item>): Map<string, Foot> {
  const found = new Map<string, Foot>();
  const commands = new Set<string>();
  for (const id of order) {
    const item = items.get(id);
    if (!item?.runId) continue;
    const { runId } = item;
    const isMessage = item.kind === "user_message";
    if (isMessage && item.data.command) commands.add(runId);
    else if (isMessage || !found.has(runId)) found.set(runId, { runId, messageId: isMessage ? id : null });
  }
  for (const runId of commands) found.delete(runId);
  return found;
}

/** Put what can be done about an answer at its last words; where it ends without words, into a line of its own. */
function close(rows: Row[], foot: Foot, items: ReadonlyMap<string, Item>, run: Run | undefined): void {
  const last = rows.at(-1);
  const item = last?.kind === "item" ? items.get(last.itemId) : undefined;
  if (last?.kind === "item" && item?.kind === "response" && !item.data.cutOff && isOver(run)) last.foot = foot;
  else if (last?.kind !== "hidden" || last.isMessage) rows.push({ kind: "foot", key: `foot-${foot.runId}`, foot });
}

/** Put a hidden item into the line of those that were hidden with it, or begin one. */
function hide(rows: Row[], { id, runId, kind }: Item, foot: Foot | undefined): void {
  const isMessage = kind === "user_message";
  const messageId = isMessage ? id : (foot?.messageId ?? null);
  const isThere = rows.some((row) => row.kind === "hidden" && !row.isMessage && row.runId === runId);
  if (isMessage || !isThere) rows.push({ kind: "hidden", key: `hidden-${id}`, itemId: id, runId, messageId, isMessage });
}

/** After a run, or before its message. */
export type Until = Pick<BranchPlace, "runId" | "instead">;

export interface Shown {
  /** What the person hid from models. */
  hidden?: ReadonlySet<string>;
  /** Where the view ends. */
  until?: Until | null;
}

/** Return what stands below the last item of each run. */
function afterRuns(order: readonly string[], items: ReadonlyMap<string, Item>, runs: ReadonlyMap<string, Run>) {
  const latest = latestRun(runs);
  const changed = changers(order, items, runs);
  const remembered = rememberers(order, items);
  const after = new Map<string, { runId: string; rows: Row[] }>();
  for (const [runId, itemId] of lastItems(order, items, runs)) {
    const run = runs.get(runId);
    const itemIds = changed.get(runId);
    const rows: Row[] = [];
    const memories = remembered.get(runId);
    if (memories) rows.push({ kind: "memories", key: `memories-${runId}`, itemIds: memories });
    if (itemIds) rows.push({ kind: "changes", key: `changes-${runId}`, runId, itemIds });
    if (run && needsWords(run)) rows.push({ kind: "end", key: `end-${runId}`, runId, isLatest: run === latest });
    after.set(itemId, { runId, rows });
  }
  return after;
}

/** Return the timeline's lines in order. */
export function rowsOf(
  all: readonly string[],
  items: ReadonlyMap<string, Item>,
  runs: ReadonlyMap<string, Run>,
  { hidden = new Set(), until = null }: Shown = {},
): Row[] {
  const order = until ? upTo(all, items, until) : all;
  const after = afterRuns(order, items, runs);
  const closing = feet(order, items);
  const rows: Row[] = [];
  for (const itemId of order) {
    const item = items.get(itemId);
    if (item && hidden.has(itemId)) hide(rows, item, closing.get(item.runId ?? ""));
    else if (item && isDone(item)) act(rows, item, items);
    else if (!goesOn(rows, item) && !(item && isNothing(item))) rows.push({ kind: "item", key: itemId, itemId });
    const below = after.get(itemId);
    const foot = closing.get(below?.runId ?? "");
    if (foot) close(rows, foot, items, runs.get(foot.runId));
    rows.push(...(below?.rows ?? []));
  }
  const last = rows.findLast((row) => row.kind !== "foot");
  if (last?.kind === "activity") last.tells = last.itemIds.filter((id) => items.get(id)?.kind !== "question").length > 1;
  return rows;
}
