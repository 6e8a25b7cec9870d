import { api } from "../api/client";
import type { Event } from "../api/types";
import { tell } from "../shell/messages";
import { fromSnapshot, withEarlier, type ConversationState } from "./conversation";
import { foldAll } from "./fold";
import { getState, setState } from "./store";

/** The branches that are drawn beside the open one, and what was told while each was fetched. */
const followed = new Map<number, { heard: Event[] | null }>();

const draw = (branch: number, state: ConversationState) =>
  setState(({ beside }) => ({ beside: new Map([...beside, [branch, state]]) }));

/** Fetch a branch as it is now; what is told meanwhile comes on top, so that nothing is missed between the two. */
async function fetchBranch(conversationId: string, branch: number): Promise<void> {
  const place: { heard: Event[] | null } = { heard: [] };
  followed.set(branch, place);
  try {
    const state = fromSnapshot(await api.snapshot(conversationId, branch));
    // Another fetch of it, or nobody looks any more.
    if (followed.get(branch) !== place) return;
    const now = foldAll(state, place.heard ?? []);
    if (now.gap) return void fetchBranch(conversationId, branch);
    place.heard = null;
    draw(branch, now);
  } catch (error) {
    if (followed.get(branch) === place) tell(error);
  }
}

/** Follow branches of the open conversation beside the one that is open; returns what ends it. */
export function followBeside(conversationId: string, branches: readonly number[]): () => void {
  for (const branch of branches) void fetchBranch(conversationId, branch);
  return () => {
    for (const branch of branches) followed.delete(branch);
    setState({ beside: new Map() });
  };
}

/** Let what is drawn beside the open branch hear of events of its conversation. */
export function hearBeside(conversationId: string, events: readonly Event[]): void {
  const { beside } = getState();
  const next = new Map(beside);
  for (const [branch, { heard }] of followed) {
    if (heard) heard.push(...events);
    const state = heard ? undefined : beside.get(branch);
    if (!state || state.conversation.id !== conversationId) continue;
    const told = foldAll(state, events);
    if (told.gap) void fetchBranch(conversationId, branch);
    else next.set(branch, told);
  }
  if (next.size) setState({ beside: next });
}

/** Fetch what is drawn beside anew: too much was told to keep up with. */
export function fetchBesideAnew(conversationId: string): void {
  for (const branch of [...followed.keys()]) void fetchBranch(conversationId, branch);
}

/** Make sure that an item of a branch beside is here, however long ago it was; returns whether it is. */
export async function reachBeside(branch: number, itemId: string): Promise<boolean> {
  for (;;) {
    const state = getState().beside.get(branch);
    if (!state || state.items.has(itemId)) return state !== undefined;
    const first = state.items.get(state.order[0] ?? "");
    if (!state.hasEarlier || !first) return false;
    const page = await api.items(state.conversation.id, first.position, branch);
    const now = getState().beside.get(branch);
    if (now) draw(branch, withEarlier(now, page));
  }
}
