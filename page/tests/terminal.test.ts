import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { TerminalView } from "../src/api/types";
import { handlesKey } from "../src/terminal/keys";
import { joinedOutput } from "../src/terminal/output";
import type { Wire } from "../src/api/line";
import { TerminalSocket } from "../src/terminal/socket";

class FakeWire implements Wire {
  onopen: ((event: never) => unknown) | null = null;
  onmessage: ((message: MessageEvent) => unknown) | null = null;
  onclose: ((event: never) => unknown) | null = null;
  sent: Record<string, unknown>[] = [];
  isClosed = false;

  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }

  close(): void {
    this.isClosed = true;
  }

  open(): void {
    this.onopen?.({} as never);
  }

  tell(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) } as MessageEvent);
  }

  bytes(text: string): void {
    this.onmessage?.({ data: new TextEncoder().encode(text).buffer } as MessageEvent);
  }

  lose(): void {
    this.onclose?.({} as never);
  }
}

const view = (startedAt: number) => ({ sessionId: "c_1", startedAt }) as TerminalView;

describe("the line to a terminal", () => {
  let wires: FakeWire[];
  let drawn: string;
  let states: string[];
  let opened: { isOther: boolean; isGap: boolean }[];
  let ended: (number | null)[];
  let problems: string[];
  let socket: TerminalSocket;
  const wire = () => wires[wires.length - 1] as FakeWire;

  beforeEach(() => {
    vi.useFakeTimers();
    wires = [];
    drawn = "";
    states = [];
    opened = [];
    ended = [];
    problems = [];
    socket = new TerminalSocket({
      open: () => {
        wires.push(new FakeWire());
        return wire();
      },
      onOpened: (_, news) => opened.push(news),
      onBytes: (bytes) => (drawn += new TextDecoder().decode(bytes)),
      onState: (state) => states.push(state),
      onEnded: (code) => ended.push(code),
      onProblem: (message) => problems.push(message),
      random: () => 1,
    });
  });
  afterEach(() => vi.useRealTimers());

  const begin = () => {
    socket.resize(100, 30);
    socket.connect();
    wire().open();
    wire().tell({ type: "opened", terminal: view(1), index: 0 });
  };

  it("opens the session with the size of the window, and gives what is typed", () => {
    begin();
    socket.input("ls\r");
    socket.resize(90, 30);
    socket.resize(90, 30);
    socket.select("some");
    expect(wire().sent).toEqual([
      { type: "open", columns: 100, rows: 30, from: 0 },
      { type: "input", data: "ls\r" },
      { type: "resize", columns: 90, rows: 30 },
      { type: "select", text: "some" },
    ]);
  });

  it("keeps what was typed before there was a session, and the size of a window that changed meanwhile", () => {
    socket.resize(100, 30);
    socket.connect();
    socket.input("l");
    wire().open();
    socket.input("s\r");
    socket.resize(90, 30);
    expect(wire().sent).toEqual([{ type: "open", columns: 100, rows: 30, from: 0 }]);
    wire().tell({ type: "opened", terminal: view(1), index: 0 });
    expect(wire().sent.slice(1)).toEqual([
      { type: "resize", columns: 90, rows: 30 },
      { type: "input", data: "ls\r" },
    ]);
    wire().lose();
    vi.advanceTimersByTime(400);
    wire().open();
    wire().tell({ type: "opened", terminal: view(1), index: 0 });
    expect(wire().sent).toEqual([{ type: "open", columns: 90, rows: 30, from: 0 }]);
  });

  it("drops what was typed for a session that did not come", () => {
    socket.connect();
    socket.input("ls\r");
    wire().open();
    wire().tell({ type: "problem", message: "No." });
    socket.connect();
    wire().open();
    wire().tell({ type: "opened", terminal: view(1), index: 0 });
    expect(wire().sent.slice(1)).toEqual([]);
  });

  it("gives what was pasted in pieces, whole characters at a time", () => {
    begin();
    const pasted = "🚢".repeat(40_000);
    socket.input(pasted);
    const sent = wire().sent.slice(1).map(({ data }) => String(data));
    expect(sent.join("")).toBe(pasted);
    expect(sent.every((piece) => new TextEncoder().encode(piece).length <= 64_000)).toBe(true);
  });

  it("goes on where it was when it broke, and drops what was typed meanwhile", () => {
    begin();
    wire().bytes("héllo");
    wire().lose();
    socket.input("rm -rf /\r");
    vi.advanceTimersByTime(400);
    wire().open();
    expect(wire().sent).toEqual([{ type: "open", columns: 100, rows: 30, from: 6 }]);
    wire().tell({ type: "opened", terminal: view(1), index: 6 });
    wire().bytes(" again");
    expect(drawn).toBe("héllo again");
    expect(opened).toEqual([
      { isOther: false, isGap: false },
      { isOther: false, isGap: false },
    ]);
    expect(states).toEqual(["connecting", "connected", "lost", "lost", "connected"]);
  });

  it("knows another session, and where something is missing", () => {
    begin();
    wire().bytes("old");
    wire().lose();
    vi.advanceTimersByTime(400);
    wire().open();
    wire().tell({ type: "opened", terminal: view(2), index: 3 });
    wire().lose();
    vi.advanceTimersByTime(400);
    wire().open();
    wire().tell({ type: "opened", terminal: view(2), index: 900 });
    expect(opened.slice(1)).toEqual([
      { isOther: true, isGap: false },
      { isOther: false, isGap: true },
    ]);
  });

  it("rests when the session ended, and when it was hung up", () => {
    begin();
    wire().tell({ type: "ended", exitCode: 3 });
    wire().lose();
    vi.advanceTimersByTime(60_000);
    expect(ended).toEqual([3]);
    expect(wires).toHaveLength(1);
    socket.connect();
    socket.close();
    vi.advanceTimersByTime(60_000);
    expect(wires).toHaveLength(2);
    expect(wire().isClosed).toBe(true);
  });

  it("rests when there can be no session, and says why", () => {
    socket.connect();
    wire().open();
    wire().tell({ type: "problem", message: "Too many." });
    expect(problems).toEqual(["Too many."]);
    expect(states.at(-1)).toBe("ended");
  });

  it("hears nothing of a line that it gave up, and nothing that it does not understand", () => {
    begin();
    const first = wire();
    socket.connect();
    first.bytes("late");
    wire().onmessage?.({ data: "{" } as MessageEvent);
    wire().tell({ type: "something" });
    expect(drawn).toBe("");
  });
});

describe("keys in a terminal", () => {
  const press = (key: string, more: object = {}) =>
    ({ type: "keydown", key, ctrlKey: true, metaKey: false, altKey: false, shiftKey: false, preventDefault: () => undefined, ...more }) as unknown as KeyboardEvent;
  const terminal = (selected: string) => ({ getSelection: () => selected, clearSelection: vi.fn() });

  it("are its own, but for those of the page and of the clipboard", () => {
    const writeText = vi.fn(() => Promise.resolve());
    vi.stubGlobal("navigator", { clipboard: { writeText } });
    expect(handlesKey(terminal(""), press("c"), false)).toBe(true);
    expect(handlesKey(terminal("text"), press("c"), false)).toBe(false);
    expect(writeText).toHaveBeenCalledWith("text");
    expect(handlesKey(terminal(""), press("v"), false)).toBe(false);
    expect(handlesKey(terminal(""), press("`"), false)).toBe(false);
    expect(handlesKey(terminal(""), press("p", { ctrlKey: false, altKey: true, code: "KeyP" }), false)).toBe(false);
    expect(handlesKey(terminal(""), press("k"), false)).toBe(true);
    expect(handlesKey(terminal("text"), press("c"), true)).toBe(true);
    vi.unstubAllGlobals();
  });
});

describe("the output of a command", () => {
  it("is kept to its end when it is very long", () => {
    const long = joinedOutput("a".repeat(300_000), "b".repeat(300_000));
    expect(long).toHaveLength(400_000);
    expect(long.endsWith("b")).toBe(true);
    expect(joinedOutput("one", "two")).toBe("onetwo");
  });
});
