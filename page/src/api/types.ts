/** The records of the wire. They mirror the server's OpenAPI document. */

export type ItemKind =
  | "user_message"
  | "response"
  | "thinking"
  | "tool_call"
  | "tool_summary"
  | "question"
  | "notice"
  | "compaction";
export type ItemStatus = "streaming" | "waiting" | "completed" | "failed" | "cancelled" | "timed_out" | "unknown";
export type RunStatus = "queued" | "running" | "waiting" | "completed" | "failed" | "cancelled" | "interrupted";

export interface Item {
  id: string;
  conversationId: string;
  runId: string | null;
  kind: ItemKind;
  status: ItemStatus;
  position: number;
  text: string;
  data: Record<string, unknown>;
  createdAt: number;
  updatedAt: number;
}

export interface RunError {
  code: string;
  message: string;
  fix: string;
}

export interface Run {
  id: string;
  conversationId: string;
  owner: string;
  status: RunStatus;
  messageItemId: string;
  options: { modelId: string | null; [key: string]: unknown };
  createdAt: number;
  updatedAt: number;
  epoch: number;
  process: string | null;
  cancelRequested: boolean;
  error: RunError | null;
}

export interface ConversationSettings {
  modelId: string | null;
  systemPrompt: string | null;
  temperature: number | null;
  maxTokens: number | null;
  thinking: boolean | null;
  workingDirectory: string | null;
}

export interface Conversation {
  id: string;
  owner: string;
  title: string;
  titleSource: "none" | "first_words" | "model" | "person";
  settings: ConversationSettings;
  createdAt: number;
  updatedAt: number;
  lastSeq: number;
  deletedAt: number | null;
  activity: string | null;
}

export interface ConversationPage {
  conversations: Conversation[];
  next: string | null;
}

export interface ConversationSnapshot {
  conversation: Conversation;
  items: Item[];
  runs: Run[];
  lastSeq: number;
  hasEarlier: boolean;
}

export interface ItemPage {
  items: Item[];
  hasEarlier: boolean;
}

export interface ImageInput {
  mediaType: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  data: string;
}

export interface NewMessage {
  text: string;
  images?: ImageInput[];
  idempotencyKey?: string | null;
  modelId?: string | null;
  unattended?: boolean;
}

export interface MessageAccepted {
  conversationId: string;
  itemId: string;
  runId: string;
}

export interface Answer {
  choice?: string | null;
  text?: string | null;
}

export interface SearchHit {
  conversationId: string;
  title: string;
  itemId: string | null;
  snippet: string;
  ranges: { start: number; end: number }[];
  at: number;
}

export interface SearchResult {
  query: string;
  hits: SearchHit[];
}

export type Provider =
  | "anthropic-compatible"
  | "openai-compatible"
  | "openai-responses"
  | "ollama"
  | "gemini"
  | "embedded"
  | "scripted";

export interface KeyState {
  kind: "none" | "env" | "secret" | "literal";
  name: string;
  present: boolean;
  problem: string;
}

export interface ModelView {
  id: string;
  name: string;
  provider: Provider;
  model: string;
  baseUrl: string;
  host: string;
  apiKeySource: string;
  key: KeyState;
  contextWindow: number;
  supportsThinking: boolean;
  supportsImages: boolean;
  maxTokens: number | null;
  isDefault: boolean;
  note: string;
}

export interface ModelList {
  defaultModelId: string | null;
  models: ModelView[];
  problem: { file: string; line: number | null; message: string } | null;
}

export interface ModelInput {
  name: string;
  provider: string;
  id?: string | null;
  model?: string;
  baseUrl?: string;
  apiKeySource?: string | null;
  apiKey?: string | null;
  contextWindow?: number | null;
  supportsThinking?: boolean;
  supportsImages?: boolean | null;
  maxTokens?: number | null;
}

/** A model as the file keeps it: what equals the default is left out. */
export interface ModelDraft {
  name: string;
  provider: Provider;
  model?: string;
  baseUrl?: string;
  apiKeySource?: string;
  contextWindow?: number;
  supportsThinking?: boolean;
  supportsImages?: boolean | null;
  maxTokens?: number | null;
  id?: string;
}

export interface FoundModel {
  title: string;
  why: string;
  draft: ModelDraft;
  choices: string[];
}

export interface ModelTest {
  ok: boolean;
  message: string;
  firstTokenMs: number | null;
  totalMs: number | null;
}

export interface Catalogue {
  refreshedAt: number | null;
  entries: { provider: string; baseUrl: string; model: string }[];
  problems: string[];
}

export interface Profile {
  id: string;
  name: string;
  settings: ConversationSettings;
}

export interface ConfigView {
  profiles: Profile[];
  activeProfile: string | null;
  globalHotkey: string;
  resumeAfterRestart: "auto" | "ask";
  version: string;
  dataFolder: string;
  database: "sqlite" | "postgresql";
}

export interface ConfigPatch {
  profiles?: Profile[] | null;
  activeProfile?: string | null;
  globalHotkey?: string | null;
  resumeAfterRestart?: "auto" | "ask" | null;
}

export interface PageState {
  conversations: ConversationPage;
  models: ModelList;
  config: ConfigView;
  snapshot: ConversationSnapshot | null;
}

export interface Problem {
  code: string;
  message: string;
  fix: string;
}

export type Event =
  | { type: "item.created"; seq: number; at: number; item: Item }
  | { type: "item.delta"; seq: number; at: number; itemId: string; offset: number; text: string }
  | {
      type: "item.updated";
      seq: number;
      at: number;
      itemId: string;
      status: ItemStatus | null;
      data: Record<string, unknown>;
    }
  | {
      type: "item.completed";
      seq: number;
      at: number;
      itemId: string;
      status: ItemStatus;
      data: Record<string, unknown>;
    }
  | { type: "run.updated"; seq: number; at: number; run: Run }
  | { type: "conversation.updated"; seq: number; at: number; conversation: Conversation };

export type SocketFrame =
  | { op: "events"; conversationId: string; events: Event[] }
  | { op: "conversation"; conversation: Conversation }
  | { op: "models"; models: ModelList }
  | { op: "notice"; level: "info" | "warning" | "error"; code: string; message: string }
  | { op: "lagged"; conversationId: string };
