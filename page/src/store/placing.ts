import type { Item, UserMessageItem } from "../api/types";
import { pathOf } from "./branches";
import type { ConversationState } from "./conversation";
import type { BranchPlace } from "./places";
import type { AppState } from "./store";

/** As many characters of a message as tell which one it is. */
const WORDS = 60;

/** Return the beginning of a message, on one line. */
export function beginningOf(text: string): string {
  const line = text.trim().replace(/\s+/g, " ");
  return line.length > WORDS ? `${line.slice(0, WORDS).trimEnd()}…` : line;
}

const isMessage = (item: Item | undefined): item is UserMessageItem => item?.kind === "user_message" && item.runId !== null;

/** Return the message of a run, if it was fetched. */
export const messageOf = (open: ConversationState, runId: string): UserMessageItem | null =>
  [...open.items.values()].find((item): item is UserMessageItem => isMessage(item) && item.runId === runId) ?? null;

/** Return the message before another on the path, if it was fetched. */
export function messageBefore(open: ConversationState, itemId: string): UserMessageItem | null {
  const before = open.order.slice(0, Math.max(0, open.order.indexOf(itemId))).map((id) => open.items.get(id));
  return before.findLast(isMessage) ?? null;
}

/** Return the place after a message and its answer, or in the place of that message, as seen from the path shown now. */
export const placeAt = (open: ConversationState, { id, runId, text, branch, position }: UserMessageItem, instead: boolean): BranchPlace => ({
  runId: runId ?? "",
  instead,
  itemId: id,
  words: beginningOf(text),
  at: branch,
  position,
  branch: open.branch,
});

/** Tell whether something that stands in a branch is on the path that is shown. */
export const isShownAt = ({ branches, branch }: ConversationState, at: number, position: number) =>
  pathOf(branches, branch).some(({ number, before }) => number === at && position < before);

/** Return where the next message begins a branch, if that is on the path that is shown: there the view ends. */
export const placeShown = ({ open, branching }: Pick<AppState, "open" | "branching">): BranchPlace | null =>
  open && branching && isShownAt(open, branching.at, branching.position) ? branching : null;

/** Tell whether nothing follows a place on the path that is shown: a message there simply goes on. */
export function isTheEnd(state: Pick<AppState, "open" | "branching">): boolean {
  const place = placeShown(state);
  if (!state.open || !place || place.instead) return false;
  const { order, items } = state.open;
  return order.includes(place.itemId) && !order.slice(order.indexOf(place.itemId) + 1).some((id) => isMessage(items.get(id)));
}
