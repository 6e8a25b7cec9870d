import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Wire } from "../src/api/line";
import { FeedSocket } from "../src/store/socket";

class TestWire implements Wire {
  onopen: ((event: never) => unknown) | null = null;
  onmessage: ((message: MessageEvent) => unknown) | null = null;
  onclose: ((event: never) => unknown) | null = null;
  sent: unknown[] = [];
  closed = false;
  send(text: string) {
    this.sent.push(JSON.parse(text));
  }
  close() {
    this.closed = true;
  }
}

function aSocket(online = () => true) {
  const wires: TestWire[] = [];
  const frames: unknown[] = [];
  const connections: string[] = [];
  const onBack = vi.fn();
  const onTrouble = vi.fn();
  const socket = new FeedSocket({
    open: () => {
      const wire = new TestWire();
      wires.push(wire);
      return wire;
    },
    onFrame: (frame) => frames.push(frame),
    onConnection: (connection) => connections.push(connection),
    onBack,
    onTrouble,
    isOnline: online,
    random: () => 1,
  });
  const last = () => wires[wires.length - 1] as TestWire;
  return { socket, wires, frames, connections, onBack, onTrouble, last };
}

const open = (wire: TestWire) => wire.onopen?.(undefined as never);
const lose = (wire: TestWire) => wire.onclose?.(undefined as never);
const say = (wire: TestWire, data: unknown) => wire.onmessage?.({ data } as MessageEvent);

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe("the socket", () => {
  it("subscribes to what was asked for before it was open", () => {
    const { socket, last } = aSocket();
    socket.subscribe("c_1", () => 7);
    socket.connect();
    open(last());
    expect(last().sent).toEqual([{ op: "subscribe", conversationId: "c_1", after: 7 }]);
  });

  it("resumes after the last event that was seen, not the first one asked for", () => {
    const { socket, last, onBack } = aSocket();
    let seen = 7;
    socket.subscribe("c_1", () => seen);
    socket.connect();
    open(last());
    seen = 31;
    lose(last());
    vi.advanceTimersByTime(400);
    open(last());
    expect(last().sent).toEqual([{ op: "subscribe", conversationId: "c_1", after: 31 }]);
    expect(onBack).toHaveBeenCalledTimes(1);
  });

  it("waits longer after each failure, up to a bound", () => {
    const { socket, wires, last } = aSocket();
    socket.connect();
    for (const wait of [400, 800, 1_600, 3_200, 6_400, 12_800, 15_000, 15_000]) {
      const count = wires.length;
      lose(last());
      vi.advanceTimersByTime(wait - 1);
      expect(wires.length).toBe(count);
      vi.advanceTimersByTime(1);
      expect(wires.length).toBe(count + 1);
    }
  });

  it("connects at once when the person comes back", () => {
    const { socket, wires, last } = aSocket();
    socket.connect();
    lose(last());
    socket.wake();
    expect(wires.length).toBe(2);
    open(last());
    socket.wake();
    expect(wires.length).toBe(2);
  });

  it("has words for each state of the connection", () => {
    let online = true;
    const { socket, connections, last } = aSocket(() => online);
    socket.connect();
    open(last());
    lose(last());
    online = false;
    vi.advanceTimersByTime(400);
    expect(connections).toEqual(["connecting", "connected", "reconnecting", "offline"]);
  });

  it("forgets what an abandoned connection says", () => {
    const { socket, wires, connections } = aSocket();
    socket.connect();
    socket.connect();
    expect(wires[0]?.closed).toBe(true);
    open(wires[0] as TestWire);
    lose(wires[0] as TestWire);
    expect(connections).not.toContain("connected");
    expect(connections).not.toContain("reconnecting");
  });

  it("passes frames on and drops what is no JSON", () => {
    const { socket, frames, last } = aSocket();
    socket.connect();
    open(last());
    say(last(), '{"op":"lagged","conversationId":"c_1"}');
    say(last(), "<html>");
    say(last(), new ArrayBuffer(2));
    expect(frames).toEqual([{ op: "lagged", conversationId: "c_1" }]);
  });

  it("tells of trouble when connecting fails again", () => {
    const { socket, onTrouble, last } = aSocket();
    socket.connect();
    lose(last());
    expect(onTrouble).not.toHaveBeenCalled();
    vi.advanceTimersByTime(400);
    lose(last());
    expect(onTrouble).toHaveBeenCalledWith(2);
  });
});
