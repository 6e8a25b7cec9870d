/** A piece of code and the class that colours it. */
export type Span = readonly [className: string, text: string];

export interface HighlightRequest {
  id: number;
  language: string;
  code: string;
}

export interface HighlightAnswer {
  id: number;
  names: string[];
  /** Pairs: which name, for how many UTF-16 units; null when the language is unknown. */
  marks: Uint32Array<ArrayBuffer> | null;
}

/** While a block grows it is coloured up to this length, and once more when it closes. */
export const OPEN_LIMIT = 8_000;
/** Code longer than this stays plain. */
export const CLOSED_LIMIT = 100_000;
/** A line longer than this is data, not code; grammars choke on it. */
const LINE_LIMIT = 5_000;
/** A grammar that takes longer than this is stopped. */
const TIME_LIMIT_MS = 2_000;

interface Waiting {
  request: HighlightRequest;
  done: (spans: Span[] | null) => void;
}

let worker: Worker | null = null;
let current: Waiting | null = null;
let timer: ReturnType<typeof setTimeout> | null = null;
let nextId = 1;
const queue: Waiting[] = [];

function finish(spans: Span[] | null): void {
  if (timer !== null) clearTimeout(timer);
  timer = null;
  const done = current?.done;
  current = null;
  done?.(spans);
  next();
}

function giveUp(): void {
  worker?.terminate();
  worker = null;
  finish(null);
}

/** Return the coloured pieces of a code that its marks describe. */
export function spansOf(code: string, { names, marks }: Pick<HighlightAnswer, "names" | "marks">): Span[] | null {
  if (!marks) return null;
  const spans: Span[] = [];
  let at = 0;
  for (let pair = 0; pair < marks.length; pair += 2) {
    const end = at + (marks[pair + 1] ?? 0);
    spans.push([names[marks[pair] ?? 0] ?? "", code.slice(at, end)]);
    at = end;
  }
  return spans;
}

function startWorker(): Worker {
  const started = new Worker(new URL("./highlight.worker.ts", import.meta.url), { type: "module" });
  started.onmessage = ({ data }: MessageEvent<HighlightAnswer>) => {
    if (data.id === current?.request.id) finish(spansOf(current.request.code, data));
  };
  started.onerror = giveUp;
  return started;
}

function next(): void {
  if (current || !queue.length) return;
  current = queue.shift() ?? null;
  if (!current) return;
  worker ??= startWorker();
  timer = setTimeout(giveUp, TIME_LIMIT_MS);
  worker.postMessage(current.request);
}

/** Tell whether a block of code should be coloured at all. */
export function isWorthColouring(language: string, code: string, isOpen: boolean): boolean {
  if (!language || code.length > (isOpen ? OPEN_LIMIT : CLOSED_LIMIT)) return false;
  return !code.split("\n").some((line) => line.length > LINE_LIMIT);
}

/** Colour code in the background; null when the language is unknown or it took too long. */
export function highlight(language: string, code: string): Promise<Span[] | null> {
  return new Promise((done) => {
    queue.push({ request: { id: nextId++, language: language.toLowerCase(), code }, done });
    next();
  });
}
