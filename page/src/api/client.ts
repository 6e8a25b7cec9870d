import createClient from "openapi-fetch";
import { learnClock } from "../store/clock";
import { fetchAsPage, signInWith } from "./csrf";
import type { paths } from "./schema";
import type {
  Answer,
  Comparison,
  ConfigPatch,
  ConversationSettings,
  EmbeddingTest,
  ModelInput,
  NewMessage,
  Problem,
  ProgramSignIn,
  ReplayWish,
  ServerCheck,
  ServerInput,
  ServerPatch,
  SignInStart,
  ToolList,
} from "./types";

/** What went wrong, with a code of the server's, or "unreachable" when it did not answer. */
export type PageProblem = Omit<Problem, "code"> & { code: Problem["code"] | "unreachable" };

/** A request that did not succeed: one sentence for the person, and what to do. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: PageProblem,
  ) {
    super(problem.message);
  }

  /** The sentence and the fix as one text. */
  get text(): string {
    return withFix(this.problem.message, this.problem.fix);
  }
}

/** Return what went wrong and what to do about it; the words of others may end without a stop. */
export function withFix(message: string, fix: string): string {
  if (!fix) return message;
  return `${message}${/[.!?…:]["”’)]?$/.test(message) ? "" : "."} ${fix}`;
}

/** Return the sentence to show for whatever was thrown. */
export function errorText(error: unknown): string {
  if (error instanceof ApiError) return error.text;
  return error instanceof Error ? error.message : String(error);
}

const unreachable: PageProblem = {
  code: "unreachable",
  message: "The server cannot be reached.",
  fix: "Check that pilothouse is still running.",
};

export function problemOf(body: unknown, status: number): PageProblem {
  const told = body as Partial<PageProblem> | null | undefined;
  if (typeof told?.message === "string") {
    return { code: told.code ?? "internal", message: told.message, fix: told.fix ?? "" };
  }
  return { code: "internal", message: `The server answered with status ${status}.`, fix: "" };
}

export const client = createClient<paths>({
  baseUrl: typeof location === "undefined" ? "" : location.origin,
  credentials: "same-origin",
  fetch: fetchAsPage,
});

interface Outcome<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

export async function take<T>(outcome: Promise<Outcome<T>>): Promise<T> {
  const { data, error, response } = await outcome.catch((cause: unknown) => {
    throw cause instanceof TypeError ? new ApiError(0, unreachable) : cause;
  });
  learnClock(response.headers.get("date"));
  if (!response.ok) throw new ApiError(response.status, problemOf(error, response.status));
  return data as T;
}

interface Paged {
  next?: string | null;
}

/** Return all of a list, asked for page by page; `onPart` is told what is there so far. */
export async function whole<T extends Paged>(
  ask: (query: { cursor?: string }) => Promise<T>,
  onPart: (found: T) => void = () => undefined,
): Promise<T> {
  let found = await ask({});
  while (found.next) {
    onPart(found);
    found = joined(found, await ask({ cursor: found.next }));
  }
  return found;
}

/** Return two parts of a list as one: lists follow each other. */
function joined<T extends Paged>(first: T, second: T): T {
  const lists = Object.entries(first).filter(([, value]) => Array.isArray(value));
  const more = second as Record<string, unknown>;
  return { ...second, ...Object.fromEntries(lists.map(([name, value]) => [name, [...value, ...(more[name] as unknown[])]])) };
}

export const at = (id: string) => ({ params: { path: { id } } });

/** Everything the page asks of the server, by name. */
export const api = {
  signIn: (code: string) => signInWith((key) => take(client.POST("/api/session", { body: { code, key } }))),
  signOut: () => take(client.DELETE("/api/session")),
  state: (conversation: string | null) =>
    take(client.GET("/api/state", { params: { query: conversation ? { conversation } : {} } })),

  conversations: (cursor: string) => take(client.GET("/api/conversations", { params: { query: { cursor } } })),
  newConversation: (settings: ConversationSettings | null) => take(client.POST("/api/conversations", { body: { settings } })),
  /** Of a branch, without choosing it; null for the one that was chosen last. */
  snapshot: (id: string, branch: number | null = null) =>
    take(client.GET("/api/conversations/{id}", { params: { path: { id }, query: branch === null ? {} : { branch } } })),
  renameConversation: (id: string, title: string) =>
    take(client.PATCH("/api/conversations/{id}", { ...at(id), body: { title } })),
  changeSettings: (id: string, settings: ConversationSettings) =>
    take(client.PATCH("/api/conversations/{id}", { ...at(id), body: { settings } })),
  deleteConversation: (id: string) => take(client.DELETE("/api/conversations/{id}", at(id))),
  restoreConversation: (id: string) => take(client.POST("/api/conversations/{id}/restore", at(id))),
  /** Those on the path of a branch; null for those of all branches. */
  items: (id: string, before: number | null, branch: number | null, limit = 100) => {
    const query = { limit, ...(before !== null && { before }), ...(branch !== null && { branch }) };
    return take(client.GET("/api/conversations/{id}/items", { params: { path: { id }, query } }));
  },
  send: (id: string, message: NewMessage) =>
    take(client.POST("/api/conversations/{id}/messages", { ...at(id), body: message })),
  compare: (id: string, comparison: Comparison) =>
    take(client.POST("/api/conversations/{id}/compare", { ...at(id), body: comparison })),
  context: (id: string) => take(client.GET("/api/conversations/{id}/context", at(id))),
  compact: (id: string, keep: string) =>
    take(client.POST("/api/conversations/{id}/compact", { ...at(id), body: { keep } })),
  search: (q: string, by: "words" | "meaning", signal: AbortSignal) =>
    take(client.GET("/api/search", { params: { query: { q, by } }, signal })),

  run: (id: string) => take(client.GET("/api/runs/{id}", at(id))),
  replay: (runId: string, wish: ReplayWish) => take(client.POST("/api/runs/{id}/replay", { ...at(runId), body: wish })),
  difference: (runId: string, other: string) =>
    take(client.GET("/api/runs/{id}/difference", { params: { path: { id: runId }, query: { other } } })),
  cancelRun: (id: string) => take(client.POST("/api/runs/{id}/cancel", at(id))),
  resumeRun: (id: string) => take(client.POST("/api/runs/{id}/resume", at(id))),
  cancelCall: (itemId: string) => take(client.POST("/api/calls/{id}/cancel", at(itemId))),
  keepWaiting: (itemId: string) => take(client.POST("/api/calls/{id}/keep-waiting", at(itemId))),
  result: (itemId: string) => take(client.GET("/api/calls/{id}/result", at(itemId))),
  answer: (itemId: string, answer: Answer) =>
    take(client.POST("/api/questions/{id}/answer", { ...at(itemId), body: answer })),

  models: () => take(client.GET("/api/models")),
  foundModels: (host = "") => take(client.GET("/api/models/found", { params: { query: host ? { host } : {} } })),
  catalogue: () => take(client.GET("/api/models/catalogue")),
  refreshCatalogue: () => take(client.POST("/api/models/refresh")),
  addModel: (model: ModelInput) => take(client.POST("/api/models", { body: model })),
  editModel: (id: string, model: ModelInput) => take(client.PUT("/api/models/{id}", { ...at(id), body: model })),
  removeModel: (id: string) => take(client.DELETE("/api/models/{id}", at(id))),
  setDefaultModel: (id: string) => take(client.POST("/api/models/{id}/default", at(id))),
  testModel: (id: string) => take(client.POST("/api/models/{id}/test", at(id))),
  testDraft: (model: ModelInput) => take(client.POST("/api/models/test", { body: model })),
  aboutModel: (model: ModelInput) => take(client.POST("/api/models/about", { body: model })),
  confirmKey: (id: string) => take(client.POST("/api/models/{id}/confirm-key", at(id))),
  forgetLearned: (id: string) => take(client.POST("/api/models/{id}/forget", at(id))),

  servers: () => take(client.GET("/api/servers")),
  addServer: (server: ServerInput) => take(client.POST("/api/servers", { body: server })),
  editServer: (id: string, server: ServerInput) => take(client.PUT("/api/servers/{id}", { ...at(id), body: server })),
  checkServer: (check: ServerCheck, signal: AbortSignal) =>
    take(client.POST("/api/servers/check", { body: check, signal })),
  patchServer: (id: string, patch: ServerPatch) => take(client.PATCH("/api/servers/{id}", { ...at(id), body: patch })),
  removeServer: (id: string) => take(client.DELETE("/api/servers/{id}", at(id))),
  consent: (id: string, fingerprint: string, cannotSend: boolean) =>
    take(client.POST("/api/servers/{id}/consent", { ...at(id), body: { fingerprint, cannotSend } })),
  beginSignIn: (id: string, start: SignInStart) =>
    take(client.POST("/api/servers/{id}/sign-in", { ...at(id), body: start })),
  finishSignIn: (address: string) => take(client.POST("/api/servers/sign-in", { body: { address } })),
  signInProgram: (id: string, program: ProgramSignIn) =>
    take(client.POST("/api/servers/{id}/sign-in/program", { ...at(id), body: program })),
  signOutOf: (id: string) => take(client.POST("/api/servers/{id}/sign-out", at(id))),
  disconnectServer: (id: string) => take(client.POST("/api/servers/{id}/disconnect", at(id))),
  retryServer: (id: string) => take(client.POST("/api/servers/{id}/retry", at(id))),
  testServer: (id: string) => take(client.POST("/api/servers/{id}/test", at(id))),
  serverTools: (id: string) =>
    whole((query) => take(client.GET("/api/servers/{id}/tools", { params: { path: { id }, query } }))),
  confirmTool: (id: string, name: string, fingerprint: string) =>
    take(client.POST("/api/servers/{id}/tools/confirm", { ...at(id), body: { name, fingerprint } })),
  decideAbout: (id: string, fingerprint: string, accept: boolean) =>
    take(client.POST("/api/servers/{id}/about", { ...at(id), body: { fingerprint, accept } })),
  serverLog: (id: string) => take(client.GET("/api/servers/{id}/log", at(id))),
  serverStatus: () => take(client.GET("/api/servers/status")),
  switchServers: (ids: string[], enabled: boolean) => take(client.PATCH("/api/servers", { body: { ids, enabled } })),
  tools: (onPart: (found: ToolList) => void) =>
    whole((query) => take(client.GET("/api/tools", { params: { query } })), onPart),
  tryTool: (serverId: string, tool: string, args: Record<string, unknown>) =>
    take(client.POST("/api/tools/try", { body: { serverId, tool, arguments: args } })),
  traffic: (after: number) => take(client.GET("/api/traffic", { params: { query: { after } } })),
  switchTraffic: (recording: boolean) => take(client.PUT("/api/traffic", { body: { recording } })),

  usage: (days: number) => take(client.GET("/api/usage", { params: { query: { days } } })),

  meaning: () => take(client.GET("/api/meaning")),
  setEmbeddingKey: (value: string | null) => take(client.PUT("/api/meaning/key", { body: { value } })),
  testEmbeddings: (test: EmbeddingTest) => take(client.POST("/api/meaning/test", { body: test })),
  remakeVectors: () => take(client.POST("/api/meaning/anew")),

  config: () => take(client.GET("/api/config")),
  changeConfig: (patch: ConfigPatch) => take(client.PATCH("/api/config", { body: patch })),
};
