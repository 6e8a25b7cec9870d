import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { settled } from "../src/calls/answers";
import { spelledOut } from "../src/calls/given";
import { fraction, inOneLine, leftOut, parsed, partsOf, progressOf, remarks, secondsLeft, shownParts, silentFor, toolOf } from "../src/calls/call";
import { canCancel, phaseIcons, phaseNote, phaseOf, phaseText, toneOf, type Phase } from "../src/calls/phases";
import * as icons from "../src/shell/icons";
import { choose, chooseNative, chosen, togglePin, toggleTool, unset } from "../src/shell/selection";
import { hostNow, learnClock } from "../src/store/clock";
import { aCall, anItem, aServer } from "./records";

const call = (data: object, status: "streaming" | "waiting" | "cancelled" | "timed_out" = "streaming") => aCall(data, { status });

describe("a call's phase", () => {
  it("has words for waiting on the person", () => {
    expect(phaseText(call({ phase: "waiting_approval" }, "waiting"))).toBe("Waiting for your approval");
    expect(phaseText(call({ phase: "input_required" }, "waiting"))).toBe("Waiting for your answer");
  });

  it("says when a server did not confirm that it stopped", () => {
    expect(phaseText(call({ cancellation: "unanswered" }, "cancelled"))).toBe("Cancelled");
    expect(phaseNote(call({ cancellation: "acknowledged" }, "cancelled"))).toBe("");
    expect(phaseNote(call({ cancellation: "asked" }, "cancelled"))).toContain("told to stop; it may still be working");
    expect(phaseNote(call({ cancellation: "unanswered" }, "timed_out"))).toContain("may still be running");
  });

  it("tells a timeout in the words of the server", () => {
    expect(phaseText(call({ error: { message: "Tool call timed out after 30s" } }, "timed_out"))).toBe(
      "Tool call timed out after 30s",
    );
  });

  it("has its words, its sign and its look", { tags: ["TCL-04", "TCL-08", "TCL-09", "TCL-15"] }, () => {
    const error = { message: "no luck" };
    const under = (phase: Phase) => call({ phase });
    const looks: [Phase, ReturnType<typeof aCall>, string, keyof typeof icons, string][] = [
      ["started", under("started"), "Receiving args...", "HourglassTopIcon", "quiet"],
      ["args_received", under("args_received"), "Args received", "HourglassBottomIcon", "quiet"],
      ["waiting_approval", under("waiting_approval"), "Waiting for your approval", "QuestionIcon", "warning"],
      ["executing", under("executing"), "Executing...", "GearIcon", "quiet"],
      ["input_required", under("input_required"), "Waiting for your answer", "QuestionIcon", "warning"],
      ["summarising", under("summarising"), "Summing up the result...", "GearIcon", "quiet"],
      ["completed", aCall({}, { status: "completed" }), "Completed", "CheckIcon", "good"],
      ["failed", aCall({ error }, { status: "failed" }), "Failed: no luck", "CrossCircleIcon", "bad"],
      ["refused", aCall({ decision: { verdict: "deny" } }, { status: "failed" }), "Not allowed", "ForbiddenIcon", "warning"],
      ["cancelled", aCall({}, { status: "cancelled" }), "Cancelled", "ForbiddenIcon", "quiet"],
      ["timed_out", aCall({}, { status: "timed_out" }), "timed out", "ClockIcon", "warning"],
      ["unknown", aCall({}, { status: "unknown" }), "It is not known whether this happened", "QuestionIcon", "warning"],
    ];
    expect(looks.map(([phase]) => phase)).toEqual(Object.keys(phaseIcons));
    for (const [phase, item, words, icon, tone] of looks) {
      expect([phaseOf(item), phaseText(item), toneOf(phase)]).toEqual([phase, words, tone]);
      expect(phaseIcons[phase], phase).toMatchObject({ type: icons[icon] });
    }
  });

  it("can be cancelled before and while it executes, and not after", { tags: ["TCL-11"] }, () => {
    const under = Object.keys(phaseIcons).filter((phase) => canCancel(phase as Phase));
    expect(under).toEqual(["started", "args_received", "executing"]);
  });

  it("that nobody knows counts as started", () => {
    expect(phaseOf(call({ phase: "dancing" }))).toBe("started");
  });
});

describe("a call under way", () => {
  it("offers more time only when its limit is near", () => {
    const item = call({ phase: "executing", deadlineAt: 1_000, timeoutSeconds: 30 });
    expect(secondsLeft(item, 980_000)).toBeNull();
    expect(secondsLeft(item, 992_000)).toBe(8);
    expect(secondsLeft(item, 1_005_000)).toBe(0);
  });

  it("says for how long nothing was heard, while it executes", () => {
    expect(silentFor(call({ phase: "executing" }), 1_000_000)).toBeNull();
    expect(silentFor(call({ phase: "executing", quietSince: 966 }), 1_000_000)).toBe(34);
    expect(silentFor(call({ phase: "input_required", quietSince: 966 }), 1_000_000)).toBeNull();
  });

  it("knows which tool of which server it is of", () => {
    expect(toolOf(call({ definition: "abc:fetch:pages:0f" }))).toEqual({ serverId: "abc", tool: "fetch:pages" });
    expect(toolOf(call({ definition: "abc@0123456789ab:fetch:0f" }))).toEqual({ serverId: "abc", tool: "fetch" });
    expect(toolOf(call({}))).toBeNull();
  });

  it("shows progress as far as the server tells it", () => {
    expect(progressOf(call({}))).toBeNull();
    const told = progressOf(call({ progress: { done: 3, total: 4, message: "copying" } }));
    expect(told && fraction(told)).toBe(0.75);
    const vague = progressOf(call({ progress: { done: 3, total: null, message: "" } }));
    expect(vague && fraction(vague)).toBeNull();
  });
});

describe("a device with a wrong clock", () => {
  const NOW = Date.UTC(2026, 0, 15, 12);
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: NOW }));
  afterEach(() => void vi.useRealTimers());

  it("counts by the host's", () => {
    learnClock(new Date(NOW + 3_600_000).toUTCString());
    expect(hostNow()).toBe(NOW + 3_600_000);
    learnClock(null);
    learnClock("no date");
    expect(hostNow()).toBe(NOW + 3_600_000);
    // A second is within what the network and the header's whole seconds may take.
    learnClock(new Date(NOW + 1_000).toUTCString());
    expect(hostNow()).toBe(NOW);
  });
});

describe("a result", () => {
  it("of which nothing is known yet has no parts", () => {
    expect(partsOf(call({}))).toEqual([]);
    expect(shownParts(aCall({}, { text: "done" })).map(({ kind, text }) => [kind, text])).toEqual([["text", "done"]]);
  });

  it("that is longer than what the timeline holds can be had in full", () => {
    const long = { content: [{ kind: "text", index: 0, text: "", bytes: 5_000 }] };
    const whole = anItem({ kind: "tool_call", text: "ø".repeat(2_500), data: long });
    const part = anItem({ kind: "tool_call", text: "ø".repeat(2_000), data: long });
    expect(leftOut(call({ content: [{ kind: "text", index: 0, text: "ø", bytes: 2 }] }))).toBe(0);
    expect(leftOut(whole)).toBe(0);
    expect(leftOut(part)).toBe(5_000);
    expect(shownParts(whole)[0]?.text).toBe(whole.text);
  });

  it("that is a file is had by its link, and a long text beside it in full", () => {
    const file = { kind: "resource", index: 0, text: "", bytes: 90, mediaType: "application/octet-stream" };
    expect(leftOut(call({ content: [file] }))).toBe(0);
    expect(leftOut(call({ content: [file, { kind: "json", index: 1, text: "", bytes: 4_000 }] }))).toBe(4_000);
  });

  it("stands behind what was given, in one line", () => {
    expect(inOneLine(call({ arguments: { path: "/a\n/b", depth: 2 } }))).toBe("path: /a /b, depth: 2");
    expect(inOneLine(call({ arguments: { port: "Bergen" } }))).toBe("Bergen");
    expect(inOneLine(call({ arguments: { seconds: 3 } }))).toBe("seconds: 3");
    expect(inOneLine(call({ rawArguments: "{broken" }))).toBe("");
  });

  it("is a tree only when it is JSON with something in it", () => {
    expect(parsed('{"a": 1}')).toEqual({ a: 1 });
    expect(parsed("12")).toBeUndefined();
    expect(parsed("{broken")).toBeUndefined();
  });
});

describe("a result", () => {
  it("says that something unseen was removed, and how often it was asked for", () => {
    expect(remarks(aCall({ attempts: 1 }))).toEqual([]);
    expect(remarks(aCall({ attempts: 2, hiddenCharacters: 7 }))).toEqual([
      "It took 2 attempts.",
      "7 invisible characters were removed from what the model reads.",
    ]);
    expect(remarks(aCall({ hiddenCharacters: 1 }))[0]).toMatch(/^1 invisible character was/);
  });
});

describe("an answer to a question", () => {
  const question = (data: object, status: "completed" | "cancelled" = "completed") =>
    anItem({ kind: "question", status, text: "Allow it?", data });

  it("of a server says what was filled in", () => {
    const asked = { kind: "elicitation", server: "Files" };
    const told = (answer: object) => settled(question({ ...asked, answer }));
    expect(told({ choice: "accept", content: { name: "Ada", age: 3 } })).toContain("You answered: name: Ada, age: 3.");
    expect(told({ choice: "accept" })).toBe("Files asked: Allow it? You said it is done.");
    expect(told({ choice: "decline" })).toContain("You declined.");
  });
});

describe("an argument that a person is asked about", () => {
  const shown = (value: unknown) => spelledOut(value).map((line) => line.map((piece) => piece.text).join(""));

  it("keeps its lines and their indentation", () => {
    expect(shown("if x:\n    y()")).toEqual(["if x:", "    y()"]);
    expect(shown({ a: [1] })).toEqual(["{", '  "a": [', "    1", "  ]", "}"]);
  });

  it("hides nothing", () => {
    expect(shown("a\u202eb\u200b")).toEqual(["a\\u{202e}b\\u{200b}"]);
    expect(shown(`a${" ".repeat(500)}b`)).toEqual(["a␣×500b"]);
    expect(shown(`${" ".repeat(500)}b`)).toEqual(["␣×500b"]);
  });
});

describe("the tools of a conversation", () => {
  const one = aServer({ id: "1", name: "One" });
  const two = aServer({ id: "2", name: "Two" });
  const off = aServer({ id: "3", name: "Off", enabled: false });
  const servers = [one, two, off];

  it("are all that is enabled until something is chosen", () => {
    expect(servers.map((server) => chosen(null, server))).toEqual(["all", "all", "none"]);
  });

  it("are named one by one once a server is left out, and the default again when it is back", () => {
    const without = choose(null, servers, two, "none");
    expect(without?.servers).toEqual([{ name: "One", tools: [] }]);
    expect(chosen(without, two)).toBe("none");
    expect(choose(without, servers, two, "all")).toBeNull();
  });

  it("can be single ones of a server", { tags: ["NAM-12"] }, () => {
    const some = toggleTool("all", ["read", "write"], "write");
    expect(some).toEqual(["read"]);
    expect(toggleTool(some, ["read", "write"], "write")).toBe("all");
    expect(toggleTool(some, ["read", "write"], "read")).toBe("none");
    expect(chosen(choose(null, servers, one, some), one)).toEqual(["read"]);
  });

  it("keep the provider's own when servers are chosen, and the other way round", () => {
    const searching = { ...unset, webSearch: true };
    const both = choose(chooseNative(null, searching), servers, two, "none");
    expect(both).toEqual({ servers: [{ name: "One", tools: [] }], nativeTools: searching, builtIn: null, pinned: [] });
    expect(choose(both, servers, two, "all")).toEqual({ servers: null, nativeTools: searching, builtIn: null, pinned: [] });
    expect(chooseNative(both, unset)).toEqual({ servers: [{ name: "One", tools: [] }], nativeTools: unset, builtIn: null, pinned: [] });
    expect(togglePin(null, "one.b")).toEqual({ servers: null, nativeTools: unset, builtIn: null, pinned: ["one.b"] });
    expect(togglePin(togglePin(null, "one.b"), "one.a")?.pinned).toEqual(["one.a", "one.b"]);
    expect(togglePin(togglePin(null, "one.b"), "one.b")).toBeNull();
    expect(chooseNative(chooseNative(null, searching), unset)).toBeNull();
  });
});
