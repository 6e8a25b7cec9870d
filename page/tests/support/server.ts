/** The server of a component test: it gives the recorded answers of the real server, and keeps the requests. */
import { act } from "@testing-library/react";

/**
 * The answers of the real server by request, made by `scripts/recordings`. A request is `GET /api/usage?days=30`, or, for
 * one body only, `PATCH /api/config {"runsAtOnce":7}`.
 */
export type Recording = Record<string, unknown>;

/** How a recording tells of a request that the server refused. */
interface Refusal {
  refusedWith: number;
  problem: unknown;
}

export const isRefusal = (said: unknown): said is Refusal => typeof said === "object" && said !== null && "refusedWith" in said;

export interface SentRequest {
  method: string;
  path: string;
  body: unknown;
}

/** An answer that is no JSON with status 200: a problem, or bytes. */
export class Answer {
  constructor(
    readonly status: number,
    readonly body: unknown,
  ) {}
}

type Given = unknown | ((request: SentRequest) => unknown);

class FakeSocket {
  onopen: ((event: Event) => void) | null = null;
  onmessage: ((event: MessageEvent) => void) | null = null;
  onclose: ((event: Event) => void) | null = null;

  constructor(readonly url: string) {
    sockets.push(this);
    queueMicrotask(() => act(() => this.onopen?.(new Event("open"))));
  }

  send(text: string): void {
    sent.push(JSON.parse(text) as object);
  }

  close(): void {
    sockets.splice(sockets.indexOf(this), 1);
  }
}

const answers = new Map<string, Given>();
const held = new Map<string, Promise<void>>();
const sockets: FakeSocket[] = [];
const sent: object[] = [];
const unanswered: string[] = [];

/** The server of the current test. */
export const server = {
  /** Every request so far, the first one first. */
  requested: [] as SentRequest[],
  /** What the page sent over its socket. */
  sent,

  /** Answer a request with this from now on; a function is called with the request. */
  answers(request: string, given: Given): void {
    answers.set(request, given);
  },

  /** Keep back the answers to a request until the returned function is called. */
  holdAnswers(request: string): () => void {
    let release = () => {};
    held.set(request, new Promise<void>((resolve) => (release = resolve)));
    return release;
  },

  /** Return the requests with this method and path. */
  requests(request: string): SentRequest[] {
    return server.requested.filter(({ method, path }) => `${method} ${path}` === request);
  },

  /** Send a frame over the socket of the page. */
  async says(frame: object): Promise<void> {
    await act(async () => {
      for (const socket of sockets) socket.onmessage?.(new MessageEvent("message", { data: JSON.stringify(frame) }));
      await Promise.resolve();
    });
  },
};

/** Answer from these recordings; of two answers to one request, the later recording's is given. */
export function serve(recordings: readonly Recording[]): void {
  globalThis.fetch = (input, init) => respond(new Request(input, init));
  globalThis.WebSocket = FakeSocket as unknown as typeof WebSocket;
  for (const recording of recordings) for (const [request, said] of Object.entries(recording)) answers.set(request, said);
}

/** Forget everything; return the requests that had no answer. */
export function forget(): string[] {
  const missed = [...unanswered];
  for (const list of [server.requested, sent, unanswered, sockets]) list.splice(0);
  answers.clear();
  held.clear();
  return missed;
}

async function respond(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const text = await request.text();
  const sentRequest = { method: request.method, path: pathname + search, body: parseJson(text) };
  server.requested.push(sentRequest);
  const names = [`${pathname}${search} ${text}`, pathname + search, pathname].map((rest) => `${request.method} ${rest}`);
  const name = names.find((each) => answers.has(each));
  await held.get(`${request.method} ${sentRequest.path}`);
  if (!name) {
    unanswered.push(`${request.method} ${sentRequest.path} ${text}`.trim());
    return Response.json({ code: "not_found", message: "Nothing was recorded for this.", fix: "" }, { status: 404 });
  }
  const given = answers.get(name);
  const said: unknown = typeof given === "function" ? await (given as (request: SentRequest) => unknown)(sentRequest) : given;
  const { status, body } = asAnswer(said);
  if (body instanceof Blob) return new Response(body, { status });
  return body === null || body === undefined ? new Response(null, { status: 204 }) : Response.json(body, { status });
}

function asAnswer(said: unknown): Answer {
  if (said instanceof Answer) return said;
  return isRefusal(said) ? new Answer(said.refusedWith, said.problem) : new Answer(200, said);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
