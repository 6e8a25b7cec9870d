import type { BranchNode } from "../api/types";
import { beginningOf } from "../store/placing";

/** A branch in the tree as it is drawn. */
export interface TreeRow {
  node: BranchNode;
  depth: number;
  /** For each step from the left, whether a line goes on below it to another branch; the last one leads here. */
  rails: readonly boolean[];
  /** Whether it is the first that leaves its parent there: the others need not say it again. */
  isFirstThere: boolean;
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
  const add = (node: BranchNode, rails: readonly boolean[], isFirstThere: boolean) => {
    rows.push({ node, depth: Math.min(rails.length, DEEPEST), rails: rails.slice(0, DEEPEST), isFirstThere });
    const children = (below.get(node.number) ?? []).sort((a, b) => a.before - b.before || a.number - b.number);
    children.forEach((child, at) => add(child, [...rails, at < children.length - 1], child.before !== children[at - 1]?.before));
  };
  for (const top of tops.sort((a, b) => a.number - b.number)) add(top, [], true);
  return rows;
}

/** Return where a branch leaves its parent; nothing for the first one. */
export function fromWords({ kind, leftAfter, leftWords }: Pick<BranchNode, "kind" | "leftAfter" | "leftWords">): string {
  if (!kind) return "";
  if (!leftAfter) return "from: the beginning";
  const words = beginningOf(leftWords);
  return words ? `from: “${words}”` : "from: a message without words";
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
