import { api } from "../api/client";
import { branchesApi } from "../api/branches";
import type { BranchTree, NewMessage, Retry, UserMessageItem } from "../api/types";
import { conversationPath, currentRoute, itemPath, navigate } from "../shell/router";
import { branchOf, loadEarlier } from "./actions";
import { branchesIn, isPathKnown, leafBelow, withBranches, type Place, type Sibling } from "./branches";
import { fromSnapshot, withEarlier, type ConversationState } from "./conversation";
import { visited } from "./leaves";
import { keepPlace, keptPlace } from "./places";
import { listed, loadConversation, show } from "./session";
import { getState, setState } from "./store";

/** Fetch the tree of a conversation; from then on the page knows all branches of it. */
export async function fetchTree(id: string): Promise<BranchTree> {
  const tree = await branchesApi.tree(id);
  setState(({ open }) =>
    open?.conversation.id === id ? { open: { ...open, branches: withBranches(open.branches, branchesIn(tree)) } } : {},
  );
  return tree;
}

/** Tell whether all branches of the open conversation are known. */
export const areAllKnown = (open: ConversationState | null) => !open || open.branches.size >= open.conversation.branches;

/** Know what leads to some branches of the open conversation; it opens with those that leave what is shown. */
export async function knowPaths(numbers: readonly number[]): Promise<void> {
  const { open } = getState();
  if (!open || areAllKnown(open) || numbers.every((number) => isPathKnown(open.branches, number))) return;
  await fetchTree(open.conversation.id);
}

/** Return the path of a branch, from its end back to an item that it has. */
async function pathWith(id: string, branch: number, itemId: string | null): Promise<ConversationState> {
  let open = fromSnapshot(await api.snapshot(id, branch));
  while (itemId && !open.items.has(itemId) && open.hasEarlier) {
    const first = open.items.get(open.order[0] ?? "");
    open = withEarlier(open, await api.items(id, first?.position ?? 0, branch));
  }
  return open;
}

/** Show another path of the open conversation, and go on with it from now on; a replay is only looked at.
 *
 * Of a long path, at least what follows an item is there then.
 */
export async function goToBranch(branch: number, itemId: string | null = null, address?: string): Promise<void> {
  const { open } = getState();
  if (!open) return;
  const { id, branch: chosen } = open.conversation;
  if (!open.branches.has(branch)) await knowPaths([branch]);
  const isReplay = getState().open?.branches.get(branch)?.kind === "replay";
  if (chosen !== branch && !isReplay) await branchesApi.choose(id, branch);
  const path = await pathWith(id, branch, itemId);
  if (getState().open?.conversation.id !== id) return;
  branchFrom(null);
  show(path);
  // An address that names a place names it on another path.
  const route = currentRoute();
  if (route.page === "chat" && route.conversationId === id) navigate(address ?? conversationPath(id), "replace");
}

/** Show one of those that stand in a place: below it, what was looked at last. */
export async function goToSibling(place: Place, siblings: readonly Sibling[]): Promise<void> {
  const leaves = visited(getState().open?.conversation.id ?? "");
  await knowPaths(leaves);
  const { open } = getState();
  if (!open) return;
  const leaf = leafBelow(open.branches, leaves, siblings, place);
  const through = siblings.find(({ branch }) => branch)?.branch;
  await goToBranch(leaf, siblings.length === 1 ? (through?.itemId ?? null) : null);
}

/** Show the branch that something was accepted into. */
async function follow(branch: number): Promise<void> {
  const { open } = getState();
  if (!open) return;
  branchFrom(null);
  setState((now) => ({ sent: now.sent + 1 }));
  if (open.branch !== branch) await loadConversation(open.conversation.id, branch);
}

export type Edited = Required<Pick<NewMessage, "text" | "keepAttachments" | "whenBusy">> & { key: string };

/** Send a message again, with other words, in a new branch. Throws when it was not accepted. */
export async function sendEdited(item: UserMessageItem, { key, ...edited }: Edited): Promise<void> {
  const accepted = await api.send(item.conversationId, { ...edited, insteadOf: item.id, idempotencyKey: key });
  await follow(accepted.branch);
}

/** Have a message answered once more, in a new branch. Throws when that was not accepted. */
export async function regenerate(runId: string, retry: Retry): Promise<void> {
  await follow((await branchesApi.retry(runId, retry)).branch);
}

/** Make a new conversation of everything up to an answer, and open it. */
export async function copyInto(runId: string): Promise<void> {
  const made = await branchesApi.copy(runId);
  setState((now) => ({ conversations: listed(now.conversations, made) }));
  navigate(conversationPath(made.id));
}

/** Go on from an answer with the next message; null for the end of the path, as usual. */
export function branchFrom(runId: string | null): void {
  const { open, branching } = getState();
  // What another tab has kept stays, where this one has nothing to do with it.
  if (open && (runId || branching)) keepPlace(open.conversation.id, runId ? { runId, branch: open.branch } : null);
  setState({ branching: runId, editing: null });
}

/** Edit an own message in its place. */
export function editMessage(itemId: string): void {
  branchFrom(null);
  setState({ editing: itemId });
}

/** Tell whether the message of a run is among what was fetched. */
const isHere = (runId: string) =>
  [...(getState().open?.items.values() ?? [])].some((item) => item.kind === "user_message" && item.runId === runId);

/** Branch again from where the draft of the open conversation was to; without a draft the place is forgotten. */
export async function returnToPlace(id: string, hasDraft: boolean): Promise<void> {
  const place = keptPlace(id);
  const { open } = getState();
  if (!place || open?.conversation.id !== id) return;
  if (!hasDraft) return keepPlace(id, null);
  // At once: what is sent before the path is here goes there, too.
  setState({ branching: place.runId });
  if (open.branch !== place.branch) await loadConversation(id, place.branch);
  while (getState().branching === place.runId && !isHere(place.runId)) if (!(await loadEarlier())) return;
}

/** Show the path that an item is on; where its branch is not known it is looked for. Returns whether there is such an item. */
export async function goToItem(itemId: string, known: number | null): Promise<boolean> {
  const { open } = getState();
  if (!open?.conversation.branches) return false;
  const { id } = open.conversation;
  const branch = known ?? (await branchOf(id, itemId));
  if (branch === null) return false;
  await goToBranch(branch, itemId, itemPath(id, itemId));
  return getState().open?.items.has(itemId) ?? false;
}
