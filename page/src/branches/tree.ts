import type { BranchNode } from "../api/types";

/** A branch in the tree as it is drawn: how deep it is, and its words. */
export interface TreeRow {
  node: BranchNode;
  depth: number;
}

/** Deeper ones are drawn no further to the right: a narrow page has room for so many. */
const DEEPEST = 6;

/** Return the branches in reading order: each below the one that it leaves, the earliest place first. */
export function treeRows(nodes: readonly BranchNode[]): TreeRow[] {
  const below = new Map<number, BranchNode[]>();
  const known = new Set(nodes.map(({ number }) => number));
  const tops: BranchNode[] = [];
  for (const node of nodes) {
    // Branch 0 is its own parent, as it is told.
    if (node.number === 0 || !known.has(node.parent)) tops.push(node);
    else below.set(node.parent, [...(below.get(node.parent) ?? []), node]);
  }
  const rows: TreeRow[] = [];
  const add = (node: BranchNode, depth: number) => {
    rows.push({ node, depth: Math.min(depth, DEEPEST) });
    const children = below.get(node.number) ?? [];
    for (const child of children.sort((a, b) => a.before - b.before || a.number - b.number)) add(child, depth + 1);
  };
  for (const top of tops.sort((a, b) => a.number - b.number)) add(top, 0);
  return rows;
}

const kinds: Record<NonNullable<BranchNode["kind"]>, string> = {
  edit: "Edited message",
  retry: "Another answer",
  branch: "Branch",
  compare: "Compared answer",
  replay: "Replay",
};

/** Return how a branch came about. */
export const kindWords = ({ kind }: Pick<BranchNode, "kind">) => (kind ? kinds[kind] : "First branch");

const states: Partial<Record<BranchNode["status"], string>> = {
  queued: "waits for its turn",
  running: "at work",
  waiting: "waits for you",
  failed: "failed",
  cancelled: "stopped",
  interrupted: "interrupted",
};

/** Return how its newest run stands; nothing where it simply ended. */
export const statusWords = ({ status }: Pick<BranchNode, "status">) => states[status] ?? "";

/** Return when something was, as short as it stays clear: the time of today, else the day. */
export function when(at: number, now = Date.now()): string {
  const then = new Date(at * 1000);
  const isToday = then.toDateString() === new Date(now).toDateString();
  const time = then.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return isToday ? time : `${then.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" })}, ${time}`;
}
