import { api } from "../api/client";
import { branchesApi } from "../api/branches";
import type { NewMessage, Retry, UserMessageItem } from "../api/types";
import { conversationPath, currentRoute, itemPath, navigate } from "../shell/router";
import { branchOf } from "./actions";
import { leafBelow, type Place, type Sibling } from "./branches";
import { fromSnapshot, withEarlier, type ConversationState } from "./conversation";
import { visited } from "./leaves";
import { listed, loadConversation, show } from "./session";
import { getState, setState } from "./store";

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
  const isReplay = open.branches.get(branch)?.kind === "replay";
  if (chosen !== branch && !isReplay) await branchesApi.choose(id, branch);
  const path = await pathWith(id, branch, itemId);
  if (getState().open?.conversation.id !== id) return;
  setState({ branching: null, editing: null });
  show(path);
  // An address that names a place names it on another path.
  const route = currentRoute();
  if (route.page === "chat" && route.conversationId === id) navigate(address ?? conversationPath(id), "replace");
}

/** Show one of those that stand in a place: below it, what was looked at last. */
export async function goToSibling(place: Place, siblings: readonly Sibling[]): Promise<void> {
  const { open } = getState();
  if (!open) return;
  const leaf = leafBelow(open.branches, visited(open.conversation.id), siblings, place);
  const through = siblings.find(({ branch }) => branch)?.branch;
  await goToBranch(leaf, siblings.length === 1 ? (through?.itemId ?? null) : null);
}

/** Show the branch that something was accepted into. */
async function follow(branch: number): Promise<void> {
  const { open } = getState();
  if (!open) return;
  setState((now) => ({ branching: null, editing: null, sent: now.sent + 1 }));
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
export const branchFrom = (runId: string | null) => setState({ branching: runId, editing: null });

/** Show the path that an item is on; where its branch is not known it is looked for. Returns whether there is such an item. */
export async function goToItem(itemId: string, known: number | null): Promise<boolean> {
  const { open } = getState();
  if (!open?.branches.size) return false;
  const { id } = open.conversation;
  const branch = known ?? (await branchOf(id, itemId));
  if (branch === null) return false;
  await goToBranch(branch, itemId, itemPath(id, itemId));
  return getState().open?.items.has(itemId) ?? false;
}
