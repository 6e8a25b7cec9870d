import type { Conversation, ConversationSnapshot, Item, Run, ServerView } from "../src/api/types";
import { fromSnapshot, type ConversationState } from "../src/store/conversation";
import { noSettings } from "../src/store/store";

/** Return a conversation with some fields of its own. */
export function aConversation(fields: Partial<Conversation> = {}): Conversation {
  return {
    id: "c_1",
    owner: "local",
    title: "A title",
    titleSource: "model",
    settings: noSettings,
    createdAt: 1,
    updatedAt: 1,
    lastSeq: 1,
    deletedAt: null,
    activity: null,
    ...fields,
  };
}

/** Return an item with some fields of its own. */
export function anItem(fields: Partial<Item> = {}): Item {
  return {
    id: "i_1",
    conversationId: "c_1",
    runId: "r_1",
    kind: "response",
    status: "streaming",
    position: 1,
    text: "",
    data: {},
    createdAt: 1,
    updatedAt: 1,
    ...fields,
  };
}

/** Return a run with some fields of its own. */
export function aRun(fields: Partial<Run> = {}): Run {
  return {
    id: "r_1",
    conversationId: "c_1",
    owner: "local",
    status: "running",
    messageItemId: "i_0",
    options: { modelId: null, unattended: false, selection: null, allow: [], thinking: null },
    createdAt: 1,
    updatedAt: 1,
    epoch: 0,
    process: null,
    cancelRequested: false,
    recoveries: 0,
    error: null,
    ...fields,
  };
}

/** Return a conversation's state holding these items, as of event `lastSeq`. */
export function aState(items: Item[] = [], lastSeq = 1, fields: Partial<ConversationSnapshot> = {}): ConversationState {
  return fromSnapshot({ conversation: aConversation(), items, runs: [], lastSeq, hasEarlier: false, todos: { todos: [], updatedAt: 0 }, ...fields });
}

/** Return a server with some fields of its own. */
export function aServer(fields: Partial<ServerView> = {}): ServerView {
  return {
    id: "s_1",
    name: "Files",
    slug: "files",
    enabled: true,
    state: "idle",
    label: "Idle",
    transport: "stdio",
    wire: "auto",
    package: { type: "npm", identifier: "server-files" },
    source: { type: "manual" },
    authType: "none",
    address: "npx -y server-files",
    settings: {},
    secretNames: [],
    secretSlots: [],
    protocolNote: "",
    toolCount: 2,
    changedTools: 0,
    quarantinedTools: 0,
    protocolVersion: "",
    serverVersion: "",
    connectedAt: null,
    lastUsedAt: null,
    lastHealthCheck: null,
    lastError: "",
    fix: "",
    restarts: 0,
    process: null,
    consent: null,
    warnings: [],
    aboutChange: null,
    ...fields,
  };
}
