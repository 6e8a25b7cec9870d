import { Line, parsedObject, type Wire } from "../api/line";
import type { SocketFrame } from "../api/types";
import type { Connection } from "./store";

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

/** One connection for the whole tab; it resumes each subscription after the last event that was seen. */
export class FeedSocket {
  private readonly line: Line;
  private isOpen = false;
  private wasOpen = false;
  private readonly subscriptions = new Map<string, () => number>();

  constructor(private readonly options: SocketOptions) {
    this.line = new Line({
      open: options.open,
      onConnecting: () => this.tell(this.wasOpen ? "reconnecting" : "connecting"),
      onOpen: () => this.opened(),
      onMessage: (data) => this.received(data),
      onLost: (failures) => this.lost(failures),
      random: options.random,
    });
  }

  /** Follow a conversation; `after` says which event was the last one seen, whenever it is asked. */
  subscribe(conversationId: string, after: () => number): void {
    this.subscriptions.set(conversationId, after);
    if (this.isOpen) this.sendSubscribe(conversationId, after());
  }

  /** Follow it no longer. */
  unsubscribe(conversationId: string): void {
    if (!this.subscriptions.delete(conversationId) || !this.isOpen) return;
    this.line.send({ op: "unsubscribe", conversationId });
  }

  /** Connect now, whatever the wait was. */
  connect(): void {
    this.isOpen = false;
    this.line.connect();
  }

  /** Connect at once when the connection is down; called when the network or the person is back. */
  wake(): void {
    if (!this.isOpen) this.connect();
  }

  /** Close for good. */
  close(): void {
    this.isOpen = false;
    this.line.hangUp();
  }

  private opened(): void {
    this.isOpen = true;
    this.line.works();
    for (const [id, after] of this.subscriptions) this.sendSubscribe(id, after());
    this.options.onConnection("connected");
    if (this.wasOpen) this.options.onBack();
    this.wasOpen = true;
  }

  private received(data: unknown): void {
    const frame = parsedObject(data);
    if (frame) this.options.onFrame(frame as SocketFrame);
  }

  private lost(failures: number): boolean {
    this.isOpen = false;
    this.tell("reconnecting");
    if (failures > 1) this.options.onTrouble(failures);
    return true;
  }

  private tell(connection: Connection): void {
    this.options.onConnection(this.options.isOnline?.() === false ? "offline" : connection);
  }

  private sendSubscribe(conversationId: string, after: number): void {
    this.line.send({ op: "subscribe", conversationId, after });
  }
}
