import { knownItem } from "../api/items";
import type { Conversation, ConversationSnapshot, Item, ItemPage, Run, TodoList } from "../api/types";

/** One conversation as the page knows it: what a snapshot gave and what the events since then made of it. */
export interface ConversationState {
  conversation: Conversation;
  items: ReadonlyMap<string, Item>;
  /** The items' ids by position. */
  order: readonly string[];
  runs: ReadonlyMap<string, Run>;
  /** What the agent has set itself to do. */
  todos: TodoList;
  lastSeq: number;
  hasEarlier: boolean;
  /** For items that stream: how much of their text the server has kept; what is beyond it is live text. */
  kept: ReadonlyMap<string, number>;
  /** Events of a type this page does not know; ignored, never acted upon. */
  unknownEvents: number;
  /** True when an event is missing, so that only a new snapshot can be right. */
  gap: boolean;
}

/** Return the state that a snapshot stands for. */
export function fromSnapshot(snapshot: ConversationSnapshot): ConversationState {
  return {
    conversation: snapshot.conversation,
    items: new Map(snapshot.items.map((item) => [item.id, knownItem(item)])),
    order: snapshot.items.map((item) => item.id),
    runs: new Map(snapshot.runs.map((run) => [run.id, run])),
    todos: snapshot.todos,
    lastSeq: snapshot.lastSeq,
    hasEarlier: snapshot.hasEarlier,
    kept: new Map(),
    unknownEvents: 0,
    gap: false,
  };
}

/** Return the state with a page of older items put before what is there. */
export function withEarlier(state: ConversationState, page: ItemPage): ConversationState {
  const older = page.items.filter((item) => !state.items.has(item.id));
  return {
    ...state,
    items: new Map([...older.map((item) => [item.id, knownItem(item)] as const), ...state.items]),
    order: [...older.map((item) => item.id), ...state.order],
    hasEarlier: page.hasEarlier,
  };
}

/** Return the run that is under way, if one is; else one that waits for its turn. */
export function activeRun(state: ConversationState | null): Run | null {
  const runs = [...(state?.runs.values() ?? [])];
  const isAtWork = ({ status }: Run) => status === "running" || status === "waiting";
  return runs.find(isAtWork) ?? runs.find(({ status }) => status === "queued") ?? null;
}
