/** The server as a component test knows it: it answers what the real one has said, and remembers what it was asked. */
import { act } from "@testing-library/react";

/** What the real server answered, by request: `GET /api/usage?days=30`. Made by `scripts/recordings`. */
export type Recording = Record<string, unknown>;

export interface Asked {
  method: string;
  path: string;
  body: unknown;
}

/** An answer that is no plain success: a problem, bytes, or one that is to come later. */
export class Answer {
  constructor(
    readonly status: number,
    readonly body: unknown,
  ) {}
}

type Given = unknown | ((asked: Asked) => unknown);

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
const sockets: FakeSocket[] = [];
const sent: object[] = [];
const unanswered: string[] = [];

/** The server of the test that runs. */
export const server = {
  /** Every request so far, the first one first. */
  asked: [] as Asked[],
  /** What the page sent over its socket. */
  sent,

  /** Answer a request with this from now on; a function is told what was asked. */
  answers(request: string, given: Given): void {
    answers.set(request, given);
  },

  /** Return what was asked with this method and path. */
  requests(request: string): Asked[] {
    return server.asked.filter(({ method, path }) => `${method} ${path}` === request);
  },

  /** Say something over the socket of the page. */
  async says(frame: object): Promise<void> {
    await act(async () => {
      for (const socket of sockets) socket.onmessage?.(new MessageEvent("message", { data: JSON.stringify(frame) }));
      await Promise.resolve();
    });
  },
};

/** Answer from these recordings; what a later one says of a request goes. */
export function serve(recordings: readonly Recording[]): void {
  globalThis.fetch = (input, init) => respond(new Request(input, init));
  globalThis.WebSocket = FakeSocket as unknown as typeof WebSocket;
  for (const recording of recordings) for (const [request, said] of Object.entries(recording)) answers.set(request, said);
}

/** Forget everything; return the requests that nothing was recorded for. */
export function forget(): string[] {
  const missed = [...unanswered];
  for (const list of [server.asked, sent, unanswered, sockets]) list.splice(0);
  answers.clear();
  return missed;
}

async function respond(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const text = await request.text();
  const asked = { method: request.method, path: pathname + search, body: parsed(text) };
  server.asked.push(asked);
  const key = [pathname + search, pathname].map((path) => `${asked.method} ${path}`).find((each) => answers.has(each));
  if (!key) {
    unanswered.push(`${asked.method} ${asked.path}`);
    return Response.json({ code: "not_found", message: "Nothing was recorded for this.", fix: "" }, { status: 404 });
  }
  const given = answers.get(key);
  const said: unknown = typeof given === "function" ? await (given as (asked: Asked) => unknown)(asked) : given;
  const { status, body } = said instanceof Answer ? said : new Answer(200, said);
  if (body instanceof Blob) return new Response(body, { status });
  return body === null || body === undefined ? new Response(null, { status: 204 }) : Response.json(body, { status });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
