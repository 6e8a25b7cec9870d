import { protocols } from "./csrf";

/** What of a WebSocket is used; a test gives its own. */
export interface Wire {
  onopen: ((event: never) => unknown) | null;
  onmessage: ((message: MessageEvent) => unknown) | null;
  onclose: ((event: never) => unknown) | null;
  send(text: string): void;
  close(): void;
}

export interface LineOptions {
  open: () => Wire;
  /** It is being opened: the first time, or again. */
  onConnecting: () => void;
  onOpen: () => void;
  onMessage: (data: unknown) => void;
  /** The line broke, or could not be opened, so many times in a row; false leaves it so. */
  onLost: (failures: number) => boolean;
  random?: (() => number) | undefined;
}

const FIRST_WAIT_MS = 400;
const MAX_WAIT_MS = 15_000;

/** Open a WebSocket to a path of this server. */
export function openWire(path: string): WebSocket {
  return new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`, protocols());
}

/** Return the object that a text holds, or null. */
export function parsedObject(data: unknown): object | null {
  if (typeof data !== "string") return null;
  try {
    const told: unknown = JSON.parse(data);
    return typeof told === "object" ? told : null;
  } catch {
    return null;
  }
}

/** A line to the server that is opened again when it breaks, later each time. */
export class Line {
  private wire: Wire | null = null;
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly options: LineOptions) {}

  /** Open it anew, now, whatever the wait was. */
  connect(): void {
    this.hangUp();
    this.options.onConnecting();
    const wire = this.options.open();
    this.wire = wire;
    wire.onopen = () => wire === this.wire && this.options.onOpen();
    wire.onmessage = ({ data }) => wire === this.wire && this.options.onMessage(data);
    wire.onclose = () => wire === this.wire && this.lost();
  }

  /** Say that it works: the next failure is a first one. */
  works(): void {
    this.failures = 0;
  }

  /** Send something; without a line it is lost. */
  send(message: object): void {
    this.wire?.send(JSON.stringify(message));
  }

  /** Close it until `connect`. */
  hangUp(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const wire = this.wire;
    this.wire = null;
    wire?.close();
  }

  private lost(): void {
    this.wire = null;
    this.failures += 1;
    if (!this.options.onLost(this.failures)) return;
    const wait = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.failures - 1));
    // Tabs that lost the same server must not all come back in the same instant.
    this.timer = setTimeout(() => this.connect(), wait * (0.5 + 0.5 * (this.options.random ?? Math.random)()));
  }
}
