import type { QuestionOf } from "../src/api/items";
import type { Conversation, ConversationSnapshot, Item, ProviderView, Run, ServerKey, ServerView } from "../src/api/types";
import { unknownProvider } from "../src/settings/providers";
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
    branch: 0,
    branches: 0,
    ...fields,
  };
}

/** Fields of an item of one kind; what it carries may lack whatever the test is not about. */
type Fields<K extends Item["kind"]> = Partial<Omit<Item, "kind" | "data">> & { kind?: K; data?: object };

/** Return an item with some fields of its own; an answer unless another kind is named. */
export function anItem<K extends Item["kind"] = "response">(fields: Fields<K> = {}): Extract<Item, { kind: K }> {
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
    branch: 0,
    ...fields,
  } as Extract<Item, { kind: K }>;
}

/** Return a call that carries this. */
export const aCall = (data: object = {}, fields: Fields<"tool_call"> = {}) => anItem({ kind: "tool_call", data, ...fields });

/** Return a question about a call that carries this. */
export const anApproval = (data: object = {}, fields: Fields<"question"> = {}) =>
  anItem({ kind: "question", status: "waiting", text: "Allow it?", data: { kind: "approval", ...data }, ...fields }) as QuestionOf<"approval">;

/** Return a run with some fields of its own. */
export function aRun(fields: Partial<Run> = {}): Run {
  return {
    id: "r_1",
    conversationId: "c_1",
    owner: "local",
    status: "running",
    messageItemId: "i_0",
    options: { modelId: null, unattended: false, selection: null, allow: [], thinking: null, compact: null, temperature: null, systemPrompt: null, replayOf: null, beside: null },
    createdAt: 1,
    updatedAt: 1,
    epoch: 0,
    process: null,
    cancelRequested: false,
    recoveries: 0,
    error: null,
    cut: null,
    branch: 0,
    ...fields,
  };
}

/** Return a conversation's state holding these items, as of event `lastSeq`. */
export function aState(items: Item[] = [], lastSeq = 1, fields: Partial<ConversationSnapshot> = {}): ConversationState {
  return fromSnapshot({ conversation: aConversation(), items: items as never[], runs: [], lastSeq, hasEarlier: false, todos: { todos: [], updatedAt: 0 }, branch: 0, branches: [], ...fields });
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
    keys: [],
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
    signedIn: null,
    ...fields,
  };
}

/** Return a key of a server, one that it lacks unless told otherwise. */
export function aKey(fields: Partial<ServerKey> = {}): ServerKey {
  return { id: "env:GITHUB_TOKEN", label: "GitHub token", source: "missing", path: "", variable: "", about: "", ...fields };
}

/** Return a provider as the server describes it, with some fields of its own. */
export function aProvider(fields: Partial<ProviderView> & { id: string }): ProviderView {
  return { ...unknownProvider(fields.id), wire: "openai-compatible", ...fields };
}
