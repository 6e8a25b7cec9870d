import { createContext, useCallback, useContext, useSyncExternalStore } from "react";
import type { PendingApproval } from "../api/authority";
import type { BuiltInTool, Conversation, ConfigView, ConversationSettings, ModelList, ProviderView, ServerList, SocketFrame, Topic } from "../api/types";
import type { ContextLedger } from "../api/types";
import type { ConversationState } from "./conversation";
import type { BranchPlace } from "./places";

export type Connection = "connecting" | "connected" | "reconnecting" | "offline";

/** Where the page stands: drawn from the server's state, or telling why it cannot be. */
export type Phase =
  | { name: "loading" }
  | { name: "ready" }
  | { name: "signed-out"; message: string }
  | { name: "failed"; message: string };

export type ServerNotice = Omit<Extract<SocketFrame, { op: "notice" }>, "op">;

/** What is known of the window of a conversation, or why nothing is. */
export interface KeptLedger {
  conversationId: string;
  ledger: ContextLedger | null;
  problem: string;
}

export interface AppState {
  phase: Phase;
  connection: Connection;
  conversations: Conversation[];
  /** The cursor for older conversations, or null when all are here. */
  nextConversations: string | null;
  models: ModelList;
  /** The MCP servers, as they are at this moment. */
  servers: ServerList;
  config: ConfigView | null;
  /** The providers that can be chosen by name. */
  providers: readonly ProviderView[];
  /** The built-in tools, in the order in which models get them. */
  builtInTools: readonly BuiltInTool[];
  /** What conversations share, by name. */
  topics: readonly Topic[];
  /** The open conversation; null on the start page. */
  open: ConversationState | null;
  /** Other paths of it that are looked at besides, by branch. */
  beside: ReadonlyMap<number, ConversationState>;
  /** The models that answer the next message side by side; null for the one that answers here. */
  compared: readonly string[] | null;
  /** Where the next message begins a branch; null for the end of the path. */
  branching: BranchPlace | null;
  /** The message that is being edited in its place. */
  editing: string | null;
  /** What fills the window of the conversation that was last asked about. */
  ledger: KeptLedger | null;
  /** Whether the conversation named by the address is being fetched. */
  opening: boolean;
  openProblem: string | null;
  /** What was chosen for the conversation that the next message starts. */
  chosen: Partial<ConversationSettings>;
  /** How many messages this tab has sent. */
  sent: number;
  notice: ServerNotice | null;
  /** What waits for the person, in whichever conversation; the oldest first. */
  waiting: readonly PendingApproval[];
  /** Frames of a kind this page does not know; ignored, and counted so that it can be told. */
  unknownFrames: number;
}

/** A conversation that overrides nothing. */
export const noSettings: ConversationSettings = {
  modelId: null,
  systemPrompt: null,
  temperature: null,
  maxTokens: null,
  thinking: null,
  workingDirectory: null,
  selection: null,
  mode: "default",
  modeSince: 0,
  topicId: null,
  prompt: null,
  promptValues: {},
  miniPrompts: [],
};

const initial: AppState = {
  phase: { name: "loading" },
  connection: "connecting",
  conversations: [],
  nextConversations: null,
  models: { defaultModelId: null, models: [], problem: null },
  servers: { servers: [], problem: null },
  config: null,
  providers: [],
  builtInTools: [],
  topics: [],
  open: null,
  beside: new Map(),
  compared: null,
  branching: null,
  editing: null,
  ledger: null,
  opening: false,
  openProblem: null,
  chosen: {},
  sent: 0,
  notice: null,
  waiting: [],
  unknownFrames: 0,
};

let state = initial;
const listeners = new Set<() => void>();

/** Return the state as it is now. */
export function getState(): AppState {
  return state;
}

/** Replace some of the state and tell whoever draws it. */
export function setState(change: Partial<AppState> | ((now: AppState) => Partial<AppState>)): void {
  const patch = typeof change === "function" ? change(state) : change;
  state = { ...state, ...patch };
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Do something once the server is reached again after it was not; returns what makes it not be done. */
export function onceBack(then: () => void): () => void {
  let isAway = state.connection !== "connected";
  const stop = subscribe(() => {
    if (state.connection !== "connected") isAway = true;
    else if (isAway) {
      stop();
      then();
    }
  });
  return stop;
}

/** The branch that is drawn within, in the place of the open one; null for that one. */
export const DrawnBranch = createContext<number | null>(null);

/** The state as each branch beside the open one is drawn with: there it is the open one. */
const seen = new Map<number, { of: AppState; as: AppState }>();

function within(branch: number | null): AppState {
  if (branch === null || state.open?.branch === branch) return state;
  const last = seen.get(branch);
  if (last?.of === state) return last.as;
  const as = { ...state, open: state.beside.get(branch) ?? null };
  seen.set(branch, { of: state, as });
  return as;
}

/** Return what tells the state as it is now where this is drawn: within a branch beside the open one, of that branch. */
export function useGetState(): () => AppState {
  const branch = useContext(DrawnBranch);
  return useCallback(() => within(branch), [branch]);
}

/** Draw with a part of the state; `select` must return something that stays the same while nothing changed. */
export function useApp<T>(select: (state: AppState) => T): T {
  const now = useGetState();
  return useSyncExternalStore(subscribe, () => select(now()));
}
