import { describe, expect, it } from "vitest";
import type { RunDifference, RunSummary, StepDifference } from "../src/api/types";
import { argumentsText, differences } from "../src/replay/marks";
import { wishOf } from "../src/replay/wish";
import { endWords, isSame, stepWords, summaryFacts, verdict, wishWords } from "../src/replay/words";
import { parseRoute, replayPath } from "../src/shell/router";
import { milliseconds } from "./growing";
import { aRun } from "./records";

const marked = (before: string, after: string) => {
  const show = (pieces: { text: string; differs: boolean }[]) => pieces.map(({ text, differs }) => (differs ? `[${text}]` : text)).join("");
  return differences(before, after).map(show);
};

describe("what differs between two texts", () => {
  it("is marked word by word, on each side what the other lacks", () => {
    expect(marked("Leave an hour before high water.", "Leave two hours before high water.")).toEqual([
      "Leave [an hour] before high water.",
      "Leave [two hours] before high water.",
    ]);
  });

  it("is nothing for the same, and everything beside nothing", () => {
    expect(marked("the same", "the same")).toEqual(["the same", "the same"]);
    expect(marked("", "new words")).toEqual(["", "[new words]"]);
  });

  it("keeps every sign of both texts", () => {
    const [before, after] = ["a  b\n\tc — “d” 🚢", "a b\n\nc – d 🚢🚢"];
    const [one, other] = differences(before, after).map((pieces) => pieces.map(({ text }) => text).join(""));
    expect([one, other]).toEqual([before, after]);
  });

  it("is found in bounded time, however long both are", () => {
    const [before, after] = ["x ".repeat(30_000), "y ".repeat(30_000)];
    let found: ReturnType<typeof differences> | undefined;
    const took = milliseconds(() => (found = differences(`same ${before}`, `same ${after}`)));
    expect(found?.[0][0]).toEqual({ text: "same ", differs: false });
    expect(took).toBeLessThan(2_000);
  });
});

describe("arguments", () => {
  it("are compared in one order, a line for each", () => {
    expect(argumentsText('{"path": "tides.txt", "lines": [1, 2], "a": true}')).toBe("a: true\nlines: [\n 1,\n 2\n]\npath: tides.txt");
    expect(argumentsText('{"b":{"y":1,"x":2}}')).toBe(argumentsText('{"b":{"x":2,"y":1}}'));
  });

  it("that are no JSON, or were cut, stay as they are", () => {
    expect(argumentsText('{"path": "tid…')).toBe('{"path": "tid…');
    expect(argumentsText("[1]")).toBe("[1]");
  });
});

const summary = (fields: Partial<RunSummary> = {}): RunSummary => ({
  runId: "r_1",
  status: "completed",
  model: "alpha",
  steps: 2,
  calls: 1,
  answer: "Yes.",
  usage: { input: 1000, output: 50, cacheRead: 0, cacheWrite: 0, reasoning: 0, estimated: false },
  cost: null,
  durationMs: 2000,
  stopped: "",
  ...fields,
});
const difference = (fields: Partial<RunDifference> = {}): RunDifference => ({
  before: summary(),
  after: summary(),
  steps: [],
  sameCalls: true,
  sameAnswer: true,
  ...fields,
});

describe("a difference in words", () => {
  it("says whether calls and answer are the same, and when there is no answer", () => {
    expect(verdict(difference())).toBe("The replay made the same calls and came to the same answer.");
    expect(verdict(difference({ sameCalls: false, sameAnswer: false }))).toBe("The replay made other calls and came to another answer.");
    expect(verdict(difference({ sameCalls: false, sameAnswer: false, after: summary({ status: "failed" }) }))).toContain("came to no answer");
    const without = summary({ calls: 0 });
    expect(verdict(difference({ before: without, after: without }))).toContain("made no calls");
  });

  it("tells plainly that a call was not recorded, and at which step", () => {
    const call = { tool: "file_operations", arguments: "{}", status: "not_recorded", result: "" };
    const after = { text: "", calls: [call], usage: null, cost: null, durationMs: null };
    const step: StepDifference = { number: 2, before: null, after, differs: ["only_after"] };
    const stopped = difference({ steps: [step], after: summary({ status: "failed", stopped: "raw words" }) });
    expect(endWords(stopped)).toBe(
      "It stopped at step 2: the original never made this call, so no result of it was recorded. Nothing was executed.",
    );
    expect(endWords(difference({ after: summary({ status: "failed", stopped: "The key was refused." }) }))).toBe("The key was refused.");
    expect(endWords(difference())).toBe("");
    expect([stepWords(step), isSame(step), isSame({ ...step, differs: ["same"] })]).toEqual(["only in the replay", false, true]);
  });

  it("puts numbers beside each other, and says by how much they changed", () => {
    const after = summary({ steps: 3, usage: { ...summary().usage, input: 620, output: 50 }, durationMs: 1, cost: 0.5 });
    const facts = Object.fromEntries(summaryFacts(summary(), after).map(({ name, ...rest }) => [name, rest]));
    expect(facts["Steps"]).toEqual({ before: "2", after: "3", change: "+1" });
    expect(facts["Tokens in"]).toEqual({ before: "1.0k", after: "620", change: "−38 %" });
    expect(facts["Tokens out"]?.change).toBe("as before");
    expect(facts["Cost"]).toEqual({ before: "not known", after: "about $0.50", change: "" });
    expect(facts["Time"]).toEqual({ before: "2.0 s", after: "1 ms", change: "−99 %" });
    expect(summaryFacts(after, summary()).at(-1)?.change).toBe("×2000");
  });
});

describe("a wish for a replay", () => {
  const usual = { modelId: "alpha", temperature: null, systemPrompt: "Be brief." };

  it("names only what is to be otherwise", () => {
    expect(wishOf(usual, usual)).toEqual({ modelId: "alpha" });
    expect(wishOf({ modelId: "beta", temperature: 0.2, systemPrompt: "" }, usual)).toEqual({ modelId: "beta", temperature: 0.2, systemPrompt: "" });
  });

  it("is told in a few words", () => {
    const { options } = aRun();
    expect(wishWords(aRun())).toBe("");
    expect(wishWords(aRun({ options: { ...options, temperature: 0.2, systemPrompt: "Be brief." } }))).toBe("temperature 0.2 · own system prompt");
    expect(wishWords(aRun({ options: { ...options, systemPrompt: "" } }))).toBe("no system prompt");
  });
});

it("has an address of its own, with or without one of its replays", () => {
  const read = (address: string) => {
    const [path = "", query = ""] = address.split("?");
    return parseRoute(path, query);
  };
  expect(read(replayPath("c_1", "r_1"))).toMatchObject({ conversationId: "c_1", replay: { runId: "r_1", branch: null } });
  expect(read(replayPath("c_1", "r_1", 4))).toMatchObject({ replay: { runId: "r_1", branch: 4 } });
  expect(read("/c/c_1?replay=r_1&with=nonsense")).toMatchObject({ replay: { runId: "r_1", branch: null } });
  expect(read("/?replay=r_1")).toMatchObject({ conversationId: null, replay: null });
});
