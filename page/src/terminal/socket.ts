import { Line, parsedObject, type Wire } from "../api/line";
import type { TerminalFrame, TerminalView } from "../api/types";

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

/** The line to a conversation's terminal; when it breaks, it goes on where it was. */
export class TerminalSocket {
  private readonly line: Line;
  private isOpen = false;
  private isOver = false;
  /** When the session began that is shown; 0 before there is one. */
  private startedAt = 0;
  /** How many bytes of the session's output were drawn. */
  private index = 0;
  private size = { columns: 80, rows: 24 };
  /** The size that the session knows. */
  private told = this.size;
  /** What was typed for the first session, which is on its way. */
  private early = "";

  constructor(private readonly options: TerminalOptions) {
    this.line = new Line({
      open: options.open,
      onConnecting: () => options.onState(this.startedAt ? "lost" : "connecting"),
      onOpen: () => this.ask(),
      onMessage: (data) => this.received(data),
      onLost: () => this.lost(),
      random: options.random,
    });
  }

  /** Connect; a session is started if there is none. */
  connect(): void {
    this.isOpen = false;
    this.isOver = false;
    this.line.connect();
  }

  /**
   * Give what was typed; a first session that is on its way gets it when it is there. What is typed while the line is
   * broken is not kept: nobody could see what it would do.
   */
  input(data: string): void {
    if (!this.isOpen && !this.startedAt && !this.isOver) this.early += data;
    for (const piece of pieces(data)) this.say({ type: "input", data: piece });
  }

  /** Say how large the window is. */
  resize(columns: number, rows: number): void {
    this.size = { columns, rows };
    if (this.isOpen) this.tellSize();
  }

  /** Say what the person has selected. */
  select(text: string): void {
    this.say({ type: "select", text });
  }

  /** Hang up for good. */
  close(): void {
    this.isOver = true;
    this.pause();
  }

  /** Hang up until `connect`: what draws cannot keep up. */
  pause(): void {
    this.isOpen = false;
    this.line.hangUp();
  }

  private ask(): void {
    this.told = this.size;
    this.line.send({ type: "open", ...this.size, from: this.index });
  }

  private tellSize(): void {
    if (this.size.columns === this.told.columns && this.size.rows === this.told.rows) return;
    this.told = this.size;
    this.say({ type: "resize", ...this.size });
  }

  private say(message: object): void {
    if (this.isOpen) this.line.send(message);
  }

  private received(data: unknown): void {
    if (data instanceof ArrayBuffer) {
      this.index += data.byteLength;
      return this.options.onBytes(new Uint8Array(data));
    }
    const told = parsedObject(data) as Partial<TerminalFrame> | null;
    if (told?.type === "opened" && told.terminal) this.opened(told.terminal, told.index ?? 0);
    else if (told?.type === "ended") this.ended(told.exitCode ?? null);
    else if (told?.type === "problem") this.refused(told.message ?? "");
  }

  private opened(terminal: TerminalView, index: number): void {
    const news = { isOther: this.startedAt !== 0 && this.startedAt !== terminal.startedAt, isGap: index !== this.index };
    this.startedAt = terminal.startedAt;
    this.index = index;
    this.line.works();
    this.isOpen = true;
    this.options.onState("connected");
    this.options.onOpened(terminal, news);
    // The window may have changed since it was asked for.
    this.tellSize();
    if (this.early) this.input(this.early);
    this.early = "";
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
      this.early = "";
      this.options.onState("ended");
    }
    this.options.onProblem(message);
  }

  private lost(): boolean {
    this.isOpen = false;
    this.early = "";
    if (!this.isOver) this.options.onState("lost");
    return !this.isOver;
  }
}
