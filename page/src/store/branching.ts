import { api } from "../api/client";
import { branchesApi } from "../api/branches";
import type { BranchTree, NewMessage, Retry, UserMessageItem } from "../api/types";
import { conversationPath, currentRoute, itemPath, navigate } from "../shell/router";
import { branchOf, loadEarlier } from "./actions";
import { branchesIn, isPathKnown, leafBelow, withBranches, type Place, type Sibling } from "./branches";
import { fromSnapshot, withEarlier, type ConversationState } from "./conversation";
import { visited } from "./leaves";
import { keepPlace, keptPlace, type BranchPlace } from "./places";
import { messageBefore, messageOf, placeAt } from "./placing";
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
 * Of a long path, at least what follows an item is there then. Where the draft begins a branch, it still does.
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
  setState({ editing: null });
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
  setState((now) => ({ sent: now.sent + 1, editing: null }));
  if (open.branch !== branch) await loadConversation(open.conversation.id, branch);
}

export type Edited = Required<Pick<NewMessage, "text" | "dropPictures" | "dropDocuments" | "whenBusy">> & { key: string };

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

/** Let the next message begin a branch somewhere; null for the end of the path, as usual. */
function branchAt(place: BranchPlace | null): void {
  const { open, branching } = getState();
  // What another tab has kept stays, where this one has nothing to do with it.
  if (open && (place || branching)) keepPlace(open.conversation.id, place);
  setState({ branching: place });
}

/** Let the next message go on at the end of the path. */
export const doNotBranch = () => branchAt(null);

/** Look for something among what was fetched, and then further back; null where it is nowhere. */
async function lookedBack<T>(find: (open: ConversationState) => T | null): Promise<T | null> {
  for (;;) {
    const { open } = getState();
    const found = open && find(open);
    if (found || !(await loadEarlier())) return found ?? null;
  }
}

/** Go on from an answer with the next message. */
export async function branchAfter(runId: string): Promise<void> {
  const message = await lookedBack((open) => messageOf(open, runId));
  const { open } = getState();
  if (!open || !message) return;
  branchAt(placeAt(open, message, false));
  setState({ editing: null });
}

/** Go on before an own message, with another one: after the answer that stands before it. Before the first one nothing does. */
export async function branchBefore(message: UserMessageItem): Promise<void> {
  const before = await lookedBack((open) => messageBefore(open, message.id));
  const { open } = getState();
  if (open?.conversation.id !== message.conversationId) return;
  branchAt(placeAt(open, before ?? message, !before));
  setState({ editing: null });
}

/** Edit an own message in its place. */
export const editMessage = (itemId: string) => setState({ editing: itemId });

/** Branch again from where the draft of the open conversation was to; without a draft the place is forgotten. */
export async function returnToPlace(id: string, hasDraft: boolean): Promise<void> {
  const place = keptPlace(id);
  const { open } = getState();
  if (!place || open?.conversation.id !== id) return;
  if (!hasDraft) return keepPlace(id, null);
  // At once: what is sent before the path is here goes there, too.
  setState({ branching: place });
  if (open.branch !== place.branch) await loadConversation(id, place.branch);
  while (getState().branching === place && !getState().open?.items.has(place.itemId)) if (!(await loadEarlier())) return;
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
