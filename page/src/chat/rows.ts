import type { Item, Run } from "../api/types";

/** A line of the timeline: an item, the calls of one answer, or how a run ended below its last item. */
export type Row =
  | { kind: "item"; key: string; itemId: string }
  | { kind: "calls"; key: string; itemIds: readonly string[] }
  | { kind: "end"; key: string; runId: string; isLatest: boolean };

/** Tell whether an item stands in this line. */
export function holds(row: Row, itemId: string | null): boolean {
  if (itemId === null || row.kind === "end") return false;
  return row.kind === "calls" ? row.itemIds.includes(itemId) : row.itemId === itemId;
}

const needsWords = (run: Run) => run.status === "failed" || run.status === "interrupted" || run.status === "cancelled";

/** Return the run that began last. */
export function latestRun(runs: ReadonlyMap<string, Run>): Run | null {
  let latest: Run | null = null;
  for (const run of runs.values()) if (!latest || run.createdAt >= latest.createdAt) latest = run;
  return latest;
}

function lastItems(order: readonly string[], items: ReadonlyMap<string, Item>, runs: ReadonlyMap<string, Run>) {
  const last = new Map<string, string>();
  const messages = new Map([...runs.values()].map((run) => [run.messageItemId, run.id]));
  for (const id of order) {
    const runId = items.get(id)?.runId ?? messages.get(id);
    if (runId) last.set(runId, id);
  }
  return last;
}

/** Put an item into the line of the calls before it, where it was asked for together with them. */
function joined(last: Row | undefined, item: Item | undefined, items: ReadonlyMap<string, Item>): Row | null {
  if (item?.kind !== "tool_call" || !last || last.kind === "end") return null;
  const earlier = last.kind === "calls" ? [...last.itemIds] : [last.itemId];
  const first = items.get(earlier[0] ?? "");
  const isSame = first?.kind === "tool_call" && first.runId === item.runId && first.data.turn === item.data.turn;
  return isSame ? { kind: "calls", key: last.key, itemIds: [...earlier, item.id] } : null;
}

/** Return the timeline's lines in order. */
export function rowsOf(
  order: readonly string[],
  items: ReadonlyMap<string, Item>,
  runs: ReadonlyMap<string, Run>,
): Row[] {
  const latest = latestRun(runs);
  const ends = new Map<string, Run>();
  for (const [runId, itemId] of lastItems(order, items, runs)) {
    const run = runs.get(runId);
    if (run && needsWords(run)) ends.set(itemId, run);
  }
  const rows: Row[] = [];
  for (const itemId of order) {
    const together = joined(rows[rows.length - 1], items.get(itemId), items);
    if (together) rows[rows.length - 1] = together;
    else rows.push({ kind: "item", key: itemId, itemId });
    const run = ends.get(itemId);
    if (run) rows.push({ kind: "end", key: `end-${run.id}`, runId: run.id, isLatest: run === latest });
  }
  return rows;
}
