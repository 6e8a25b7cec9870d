import type {
  Answer,
  Catalogue,
  ConfigPatch,
  ConfigView,
  Conversation,
  ConversationPage,
  ConversationSettings,
  ConversationSnapshot,
  FoundModel,
  ItemPage,
  MessageAccepted,
  ModelInput,
  ModelList,
  ModelTest,
  NewMessage,
  PageState,
  Problem,
  Run,
  SearchResult,
} from "./types";

/** A request that did not succeed: one sentence for the person, and what to do. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.message);
  }

  /** True when the server was not reached at all. */
  get unreachable(): boolean {
    return this.status === 0;
  }

  /** The sentence and the fix as one text. */
  get text(): string {
    return [this.problem.message, this.problem.fix].filter(Boolean).join(" ");
  }
}

/** Return the sentence to show for whatever was thrown. */
export function errorText(error: unknown): string {
  if (error instanceof ApiError) return error.text;
  return error instanceof Error ? error.message : String(error);
}

const unreachable: Problem = {
  code: "unreachable",
  message: "The server cannot be reached.",
  fix: "Check that pilothouse is still running; the page reconnects by itself.",
};

async function problemOf(response: Response): Promise<Problem> {
  try {
    const body = (await response.json()) as Partial<Problem>;
    if (typeof body.message === "string") return { code: body.code ?? "internal", message: body.message, fix: body.fix ?? "" };
  } catch {
    // Not JSON: a proxy's page, perhaps. The status still says something.
  }
  return { code: "internal", message: `The server answered with status ${response.status}.`, fix: "" };
}

async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method, credentials: "same-origin", headers: { accept: "application/json" } };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { ...init.headers, "content-type": "application/json" };
  }
  const response = await fetch(path, init).catch(() => {
    throw new ApiError(0, unreachable);
  });
  if (!response.ok) throw new ApiError(response.status, await problemOf(response));
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

const at = (id: string) => encodeURIComponent(id);
const query = (values: Record<string, string | number | null | undefined>) => {
  const pairs = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  return pairs.length ? `?${new URLSearchParams(pairs.map(([key, value]) => [key, String(value)]))}` : "";
};

/** Everything the page asks of the server, by name. */
export const api = {
  signIn: (code: string) => request<void>("POST", "/api/session", { code }),
  state: (conversation: string | null) => request<PageState>("GET", `/api/state${query({ conversation })}`),

  conversations: (cursor: string | null) =>
    request<ConversationPage>("GET", `/api/conversations${query({ cursor })}`),
  newConversation: (settings: Partial<ConversationSettings> | null) =>
    request<Conversation>("POST", "/api/conversations", settings ? { settings } : {}),
  snapshot: (id: string) => request<ConversationSnapshot>("GET", `/api/conversations/${at(id)}`),
  renameConversation: (id: string, title: string) =>
    request<Conversation>("PATCH", `/api/conversations/${at(id)}`, { title }),
  changeSettings: (id: string, settings: ConversationSettings) =>
    request<Conversation>("PATCH", `/api/conversations/${at(id)}`, { settings }),
  deleteConversation: (id: string) => request<void>("DELETE", `/api/conversations/${at(id)}`),
  restoreConversation: (id: string) => request<Conversation>("POST", `/api/conversations/${at(id)}/restore`),
  items: (id: string, before: number, limit = 100) =>
    request<ItemPage>("GET", `/api/conversations/${at(id)}/items${query({ before, limit })}`),
  send: (id: string, message: NewMessage) =>
    request<MessageAccepted>("POST", `/api/conversations/${at(id)}/messages`, message),
  search: (q: string) => request<SearchResult>("GET", `/api/search${query({ q })}`),

  cancelRun: (id: string) => request<Run>("POST", `/api/runs/${at(id)}/cancel`),
  resumeRun: (id: string) => request<Run>("POST", `/api/runs/${at(id)}/resume`),
  cancelCall: (runId: string, itemId: string) =>
    request<void>("POST", `/api/runs/${at(runId)}/calls/${at(itemId)}/cancel`),
  answer: (itemId: string, answer: Answer) => request<void>("POST", `/api/questions/${at(itemId)}/answer`, answer),

  models: () => request<ModelList>("GET", "/api/models"),
  foundModels: () => request<{ found: FoundModel[] }>("GET", "/api/models/found"),
  catalogue: () => request<Catalogue>("GET", "/api/models/catalogue"),
  refreshCatalogue: () => request<Catalogue>("POST", "/api/models/catalogue"),
  addModel: (model: ModelInput) => request<ModelList>("POST", "/api/models", model),
  editModel: (id: string, model: ModelInput) => request<ModelList>("PUT", `/api/models/${at(id)}`, model),
  removeModel: (id: string) => request<ModelList>("DELETE", `/api/models/${at(id)}`),
  setDefaultModel: (id: string) => request<ModelList>("POST", `/api/models/${at(id)}/default`),
  testModel: (id: string) => request<ModelTest>("POST", `/api/models/${at(id)}/test`),

  config: () => request<ConfigView>("GET", "/api/config"),
  changeConfig: (patch: ConfigPatch) => request<ConfigView>("PATCH", "/api/config", patch),
};
