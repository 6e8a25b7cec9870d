import type { SocketFrame } from "../api/types";
import type { Connection } from "./store";

/** What of a WebSocket is used; a test gives its own. */
export interface Wire {
  onopen: ((event: never) => unknown) | null;
  onmessage: ((message: MessageEvent) => unknown) | null;
  onclose: ((event: never) => unknown) | null;
  send(text: string): void;
  close(): void;
}

export interface SocketOptions {
  open: () => Wire;
  onFrame: (frame: SocketFrame) => void;
  onConnection: (connection: Connection) => void;
  /** Called when the connection is back after it was lost: lists may have changed meanwhile. */
  onBack: () => void;
  /** Called when connecting failed again; the session may have ended. */
  onTrouble: (failures: number) => void;
  isOnline?: () => boolean;
  random?: () => number;
}

const FIRST_WAIT_MS = 400;
const MAX_WAIT_MS = 15_000;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** One connection for the whole tab; it resumes each subscription after the last event that was seen. */
export class FeedSocket {
  private wire: Wire | null = null;
  private isOpen = false;
  private wasOpen = false;
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private readonly subscriptions = new Map<string, () => number>();

  constructor(private readonly options: SocketOptions) {}

  /** Follow a conversation; `after` says which event was the last one seen, whenever it is asked. */
  subscribe(conversationId: string, after: () => number): void {
    this.subscriptions.set(conversationId, after);
    if (this.isOpen) this.sendSubscribe(conversationId, after());
  }

  /** Follow it no longer. */
  unsubscribe(conversationId: string): void {
    if (!this.subscriptions.delete(conversationId) || !this.isOpen) return;
    this.wire?.send(JSON.stringify({ op: "unsubscribe", conversationId }));
  }

  /** Connect now, whatever the wait was. */
  connect(): void {
    this.stopTimer();
    this.drop();
    if (this.options.isOnline?.() === false) this.options.onConnection("offline");
    else this.options.onConnection(this.wasOpen ? "reconnecting" : "connecting");
    const wire = this.options.open();
    this.wire = wire;
    wire.onopen = () => this.opened(wire);
    wire.onmessage = ({ data }) => this.received(data);
    wire.onclose = () => this.lost(wire);
  }

  /** Connect at once when the connection is down; called when the network or the person is back. */
  wake(): void {
    if (!this.isOpen) this.connect();
  }

  /** Close for good. */
  close(): void {
    this.stopTimer();
    this.drop();
  }

  private opened(wire: Wire): void {
    if (wire !== this.wire) return;
    this.isOpen = true;
    this.failures = 0;
    for (const [id, after] of this.subscriptions) this.sendSubscribe(id, after());
    this.options.onConnection("connected");
    if (this.wasOpen) this.options.onBack();
    this.wasOpen = true;
  }

  private received(data: unknown): void {
    if (typeof data !== "string") return;
    const frame = parsed(data);
    if (typeof frame === "object" && frame !== null) this.options.onFrame(frame as SocketFrame);
  }

  private lost(wire: Wire): void {
    if (wire !== this.wire) return;
    this.wire = null;
    this.isOpen = false;
    this.failures += 1;
    this.options.onConnection(this.options.isOnline?.() === false ? "offline" : "reconnecting");
    if (this.failures > 1) this.options.onTrouble(this.failures);
    const wait = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (this.failures - 1));
    // Tabs that lost the same server must not all come back in the same instant.
    this.timer = setTimeout(() => this.connect(), wait * (0.5 + 0.5 * (this.options.random ?? Math.random)()));
  }

  private sendSubscribe(conversationId: string, after: number): void {
    this.wire?.send(JSON.stringify({ op: "subscribe", conversationId, after }));
  }

  private stopTimer(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  private drop(): void {
    const wire = this.wire;
    this.wire = null;
    this.isOpen = false;
    wire?.close();
  }
}
