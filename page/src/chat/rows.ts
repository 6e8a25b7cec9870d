import type { Item, Run } from "../api/types";
import { askedOf, isApproval } from "../approvals/asked";

/** A line of the timeline: an item, the calls of one answer, questions about calls of the same shape,
 * what a run changed, or how it ended, below its last item. */
export type Row =
  | { kind: "item"; key: string; itemId: string }
  | { kind: "calls"; key: string; itemIds: readonly string[] }
  | { kind: "approvals"; key: string; shape: string; itemIds: readonly string[] }
  | { kind: "changes"; key: string; runId: string; itemIds: readonly string[] }
  | { kind: "end"; key: string; runId: string; isLatest: boolean };

/** Tell whether an item stands in this line. */
export function holds(row: Row, itemId: string | null): boolean {
  if (itemId === null || row.kind === "end" || row.kind === "changes") return false;
  return row.kind === "item" ? row.itemId === itemId : row.itemIds.includes(itemId);
}

/** Return the item by whose name the line of an item is found: questions that share a card have that of the first. */
export function placeOf(rows: readonly Row[], itemId: string): string {
  const row = rows.find((each) => holds(each, itemId));
  return (row?.kind === "approvals" && row.itemIds[0]) || itemId;
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
const isAfterwards = ({ data }: Item) => data.code === "undone" || data.name === "undone";

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
    const { runId, data } = items.get(id) ?? {};
    if (!runId || !Array.isArray(data?.changes) || !data.changes.length || !isOver(runs.get(runId))) continue;
    found.set(runId, [...(found.get(runId) ?? []), id]);
  }
  return found;
}

/** Put an item into the line of the calls before it, where it was asked for together with them. */
function joined(last: Row | undefined, item: Item | undefined, items: ReadonlyMap<string, Item>): Row | null {
  if (item?.kind !== "tool_call" || !last || (last.kind !== "item" && last.kind !== "calls")) return null;
  const earlier = last.kind === "calls" ? [...last.itemIds] : [last.itemId];
  const first = items.get(earlier[0] ?? "");
  const isSame = first?.kind === "tool_call" && first.runId === item.runId && first.data.turn === item.data.turn;
  return isSame ? { kind: "calls", key: last.key, itemIds: [...earlier, item.id] } : null;
}

/** Put a question about a call into a line; those of the same shape that were asked together share one. */
function ask(rows: Row[], item: Item): void {
  const { group } = askedOf(item.data);
  const shape = `${item.runId} ${group}`;
  for (let at = rows.length - 1; group && at >= 0; at -= 1) {
    const row = rows[at];
    if (row?.kind !== "approvals") break;
    if (row.shape !== shape) continue;
    rows[at] = { ...row, itemIds: [...row.itemIds, item.id] };
    return;
  }
  rows.push({ kind: "approvals", key: item.id, shape, itemIds: [item.id] });
}

/** Return the timeline's lines in order. */
export function rowsOf(
  order: readonly string[],
  items: ReadonlyMap<string, Item>,
  runs: ReadonlyMap<string, Run>,
): Row[] {
  const latest = latestRun(runs);
  const changed = changers(order, items, runs);
  const after = new Map<string, Row[]>();
  for (const [runId, itemId] of lastItems(order, items, runs)) {
    const run = runs.get(runId);
    const itemIds = changed.get(runId);
    const rows: Row[] = [];
    if (itemIds) rows.push({ kind: "changes", key: `changes-${runId}`, runId, itemIds });
    if (run && needsWords(run)) rows.push({ kind: "end", key: `end-${runId}`, runId, isLatest: run === latest });
    after.set(itemId, rows);
  }
  const rows: Row[] = [];
  for (const itemId of order) {
    const item = items.get(itemId);
    const together = joined(rows[rows.length - 1], item, items);
    if (isApproval(item)) ask(rows, item);
    else if (together) rows[rows.length - 1] = together;
    else rows.push({ kind: "item", key: itemId, itemId });
    rows.push(...(after.get(itemId) ?? []));
  }
  return rows;
}
