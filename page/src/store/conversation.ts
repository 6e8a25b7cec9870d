import { knownItem } from "../api/items";
import type { Conversation, ConversationSnapshot, Item, ItemPage, Run, TodoList } from "../api/types";
import { withBranches, type Branches } from "./branches";

/** One path of a conversation as the page knows it: what a snapshot gave and what the events since then made of it. */
export interface ConversationState {
  conversation: Conversation;
  /** The branch whose path this is; the conversation's own is the one that was chosen last, perhaps in another tab. */
  branch: number;
  branches: Branches;
  items: ReadonlyMap<string, Item>;
  /** The items' ids by position. */
  order: readonly string[];
  /** The runs of the path. */
  runs: ReadonlyMap<string, Run>;
  /** Runs of other branches that are under way. */
  elsewhere: ReadonlyMap<string, Run>;
  /** The items that the person hid from models. */
  hidden: ReadonlySet<string>;
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

/** Tell whether an item was hidden from models. */
export const isHidden = (item: Item) => "hidden" in item.data && item.data.hidden === true;

const hiddenOf = (items: Iterable<Item>) => new Set([...items].filter(isHidden).map(({ id }) => id));

/** Return the state that a snapshot stands for. */
export function fromSnapshot(snapshot: ConversationSnapshot): ConversationState {
  const { branch = 0, branches = [], conversation, items, runs } = snapshot;
  // A snapshot has every run that is under way, in whichever branch.
  const shown = new Set(items.map(({ runId }) => runId));
  const isHere = (run: Run) => run.branch === branch || shown.has(run.id);
  return {
    conversation,
    branch,
    branches: new Map(branches.map((each) => [each.number, each])),
    items: new Map(items.map((item) => [item.id, knownItem(item)])),
    order: items.map((item) => item.id),
    runs: new Map(runs.filter(isHere).map((run) => [run.id, run])),
    elsewhere: new Map(runs.filter((run) => !isHere(run)).map((run) => [run.id, run])),
    hidden: hiddenOf(items),
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
    hidden: new Set([...state.hidden, ...hiddenOf(older)]),
    branches: withBranches(state.branches, page.branches),
    hasEarlier: page.hasEarlier,
  };
}

/** Return the run of this path that is under way, if one is; else one that waits for its turn. */
export function activeRun(state: ConversationState | null): Run | null {
  const runs = [...(state?.runs.values() ?? [])];
  const isAtWork = ({ status }: Run) => status === "running" || status === "waiting";
  return runs.find(isAtWork) ?? runs.find(({ status }) => status === "queued") ?? null;
}
