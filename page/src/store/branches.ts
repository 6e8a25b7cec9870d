import type { Branch, BranchTree, Item, UserMessageItem } from "../api/types";

/** Branches of a conversation beside the first, by number: those that leave what is shown, or all once they were asked for. */
export type Branches = ReadonlyMap<number, Branch>;

/** A branch that leads to another, and the position before which it is shared. */
export interface Step {
  number: number;
  before: number;
}

/** Return the branches that lead to one, itself first. */
export function pathOf(branches: Branches, number: number): Step[] {
  const path: Step[] = [{ number, before: Infinity }];
  for (let at = branches.get(number); at; at = branches.get(at.parent)) path.push({ number: at.parent, before: at.before });
  return path;
}

/** One of those that stand in the same place: a branch, or (null) what was there first. */
export interface Sibling {
  branch: Branch | null;
  /** The branch to go to for it: its own, or the one that was left. */
  number: number;
}

/** All that stand in one place, the first one first; those in `same` answer the same message. */
export interface Place {
  /** The run that was there first: the name of the place. */
  root: string;
  messages: readonly (readonly Sibling[])[];
  /** Which of the messages is on the path, and which of its answers. */
  message: number;
  answer: number;
}

/** Return the branch that a message begins, if it begins one. */
export function begunBy(branches: Branches, message: Pick<Item, "id" | "branch">): Branch | null {
  const branch = branches.get(message.branch);
  return branch?.itemId === message.id ? branch : null;
}

/** Put answers to the same message together, in the order of the messages. */
function byMessage(members: readonly Branch[], first: Sibling): Sibling[][] {
  const others = new Map(members.filter(({ repeats }) => !repeats).map((branch) => [branch.itemId, [] as Sibling[]]));
  const groups = [[first], ...others.values()];
  for (const branch of members) {
    const own = others.get(branch.repeats ?? branch.itemId);
    // What repeats none of the others repeats the first.
    (own ?? groups[0])?.push({ branch, number: branch.number });
  }
  return groups;
}

/** Return what else stands in the place of a message of the path; null where nothing does. */
export function placeOf(branches: Branches, message: Pick<UserMessageItem, "id" | "branch" | "runId">): Place | null {
  const mine = begunBy(branches, message);
  const root = mine ? mine.insteadOf : message.runId;
  const members = [...branches.values()]
    .filter((branch) => branch.insteadOf === root && branch.kind !== "replay")
    .sort((a, b) => a.number - b.number);
  const [some] = members;
  if (!root || !some) return null;
  const messages = byMessage(members, { branch: null, number: some.parent });
  const isMine = ({ branch }: Sibling) => (branch?.number ?? null) === (mine?.number ?? null);
  const at = messages.findIndex((answers) => answers.some(isMine));
  if (at < 0) return null;
  return { root, messages, message: at, answer: messages[at]?.findIndex(isMine) ?? 0 };
}

/** Tell whether the path of a branch goes through one of those that stand in a place. */
export function leadsThrough(branches: Branches, leaf: number, { branch, number }: Sibling, place: Place): boolean {
  const path = pathOf(branches, leaf);
  if (branch) return path.some((step) => step.number === branch.number);
  const other = place.messages.flat().find((sibling) => sibling.branch)?.branch;
  return path.some((step) => step.number === number && step.before > (other?.before ?? 0));
}

/** Return the branch to show for some siblings: the one below them that was looked at last, or else the first of them. */
export function leafBelow(branches: Branches, visited: readonly number[], siblings: readonly Sibling[], place: Place): number {
  const known = visited.filter((number) => number === 0 || branches.has(number));
  const last = known.find((leaf) => siblings.some((sibling) => leadsThrough(branches, leaf, sibling, place)));
  return last ?? siblings[0]?.number ?? 0;
}

/** Tell whether all that lead to a branch are known: a conversation opens with those that leave what is shown of it. */
export function isPathKnown(branches: Branches, number: number): boolean {
  let at = number;
  for (let branch = branches.get(at); branch; branch = branches.get(at)) at = branch.parent;
  return at === 0;
}

/** Return the branches with some more; the same object where none of them is new. */
export function withBranches(branches: Branches, more: Iterable<Branch>): Branches {
  const unknown = [...more].filter(({ number }) => !branches.has(number));
  return unknown.length ? new Map([...branches, ...unknown.map((branch) => [branch.number, branch] as const)]) : branches;
}

/** Return the branches of a tree beside the first. */
export const branchesIn = ({ branches }: BranchTree): Branch[] =>
  branches.flatMap(({ kind, ...node }) => (kind && node.number ? [{ ...node, kind }] : []));

/** Return the branches with the one that a message begins; the same object where it begins none that is new. */
export function withBranchOf(branches: Branches, item: Item): Branches {
  if (item.kind !== "user_message" || !item.data.fork || !item.runId || branches.has(item.branch)) return branches;
  const { parent, before, insteadOf, kind, repeats = null } = item.data.fork;
  const number = item.branch;
  const made: Branch = { number, parent, before, insteadOf, kind, repeats, itemId: item.id, runId: item.runId, createdAt: item.createdAt };
  return withBranches(branches, [made]);
}
