import type { TerminalFrame, TerminalView } from "../api/types";

/** What of a WebSocket is used; a test gives its own. */
export interface Wire {
  onopen: ((event: never) => unknown) | null;
  onmessage: ((message: MessageEvent) => unknown) | null;
  onclose: ((event: never) => unknown) | null;
  send(text: string): void;
  close(): void;
}

export type LineState = "connecting" | "connected" | "lost" | "ended";

export interface TerminalOptions {
  open: () => Wire;
  /** A session is there. `isOther`: not the one that was there before; `isGap`: what comes does not follow what was drawn. */
  onOpened: (terminal: TerminalView, news: { isOther: boolean; isGap: boolean }) => void;
  onBytes: (bytes: Uint8Array) => void;
  onState: (state: LineState) => void;
  onEnded: (exitCode: number | null) => void;
  onProblem: (message: string) => void;
  random?: () => number;
}

const FIRST_WAIT_MS = 400;
const MAX_WAIT_MS = 10_000;

/** What one message may hold: the server takes 64 KB, and a character has up to four bytes. */
const PIECE_CHARS = 16_000;

/** Cut what was pasted into pieces; no character is cut in two. */
function pieces(text: string): string[] {
  const characters = text.length > PIECE_CHARS ? Array.from(text) : null;
  if (!characters) return [text];
  const cut: string[] = [];
  for (let at = 0; at < characters.length; at += PIECE_CHARS) cut.push(characters.slice(at, at + PIECE_CHARS).join(""));
  return cut;
}

function parsed(text: string): Partial<TerminalFrame> | null {
  try {
    const told: unknown = JSON.parse(text);
    return typeof told === "object" && told !== null ? (told as Partial<TerminalFrame>) : null;
  } catch {
    return null;
  }
}

/** The line to a conversation's terminal; when it breaks, it goes on where it was. */
export class TerminalSocket {
  private wire: Wire | null = null;
  private isOpen = false;
  private isOver = false;
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | null = null;
  /** When the session began that is shown; 0 before there is one. */
  private startedAt = 0;
  /** How many bytes of the session's output were drawn. */
  private index = 0;
  private columns = 80;
  private rows = 24;

  constructor(private readonly options: TerminalOptions) {}

  /** Connect; a session is started if there is none. */
  connect(): void {
    this.drop();
    this.isOver = false;
    this.options.onState(this.startedAt ? "lost" : "connecting");
    const wire = this.options.open();
    this.wire = wire;
    wire.onopen = () => this.ask(wire);
    wire.onmessage = ({ data }) => this.received(wire, data);
    wire.onclose = () => this.lost(wire);
  }

  /** Give what was typed. What is typed while the line is broken is not kept: nobody could see what it would do. */
  input(data: string): void {
    for (const piece of pieces(data)) this.say({ type: "input", data: piece });
  }

  /** Say how large the window is. */
  resize(columns: number, rows: number): void {
    if (columns === this.columns && rows === this.rows) return;
    this.columns = columns;
    this.rows = rows;
    this.say({ type: "resize", columns, rows });
  }

  /** Say what the person has selected. */
  select(text: string): void {
    this.say({ type: "select", text });
  }

  /** Hang up for good. */
  close(): void {
    this.isOver = true;
    this.drop();
  }

  /** Hang up until `connect`: what draws cannot keep up. */
  pause(): void {
    this.drop();
  }

  private say(message: Record<string, unknown>): void {
    if (this.isOpen) this.wire?.send(JSON.stringify(message));
  }

  private ask(wire: Wire): void {
    if (wire !== this.wire) return;
    wire.send(JSON.stringify({ type: "open", columns: this.columns, rows: this.rows, from: this.index }));
  }

  private received(wire: Wire, data: unknown): void {
    if (wire !== this.wire) return;
    if (data instanceof ArrayBuffer) {
      this.index += data.byteLength;
      return this.options.onBytes(new Uint8Array(data));
    }
    const told = typeof data === "string" ? parsed(data) : null;
    if (told?.type === "opened" && told.terminal) this.opened(told.terminal, told.index ?? 0);
    else if (told?.type === "ended") this.ended(told.exitCode ?? null);
    else if (told?.type === "problem") this.refused(told.message ?? "");
  }

  private opened(terminal: TerminalView, index: number): void {
    const news = { isOther: this.startedAt !== 0 && this.startedAt !== terminal.startedAt, isGap: index !== this.index };
    this.startedAt = terminal.startedAt;
    this.index = index;
    this.failures = 0;
    this.isOpen = true;
    this.options.onState("connected");
    this.options.onOpened(terminal, news);
  }

  private ended(exitCode: number | null): void {
    this.isOver = true;
    this.isOpen = false;
    this.options.onState("ended");
    this.options.onEnded(exitCode);
  }

  /** What was asked cannot be done; without a session there is nothing to wait for. */
  private refused(message: string): void {
    if (!this.isOpen) {
      this.isOver = true;
      this.options.onState("ended");
    }
    this.options.onProblem(message);
  }

  private lost(wire: Wire): void {
    if (wire !== this.wire) return;
    this.wire = null;
    this.isOpen = false;
    if (this.isOver) return;
    this.failures += 1;
    this.options.onState("lost");
    const wait = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.failures - 1));
    this.timer = setTimeout(() => this.connect(), wait * (0.5 + 0.5 * (this.options.random ?? Math.random)()));
  }

  private drop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const wire = this.wire;
    this.wire = null;
    this.isOpen = false;
    wire?.close();
  }
}
