import { describe, expect, it } from "vitest";
import { costWords, fillings, inkOf, isNearlyFull, ledgerMoment, percent, ringLabel } from "../src/context/ledger";
import type { ContextLedger, ContextPart, DayUsage, UsageSum } from "../src/api/types";
import { fold } from "../src/store/fold";
import { byModel, columns, daysBetween, dayWords, dollars, marks } from "../src/usage/usage";
import { aConversation, anItem, aRun, aState } from "./records";

const noSum: UsageSum = { requests: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: null, costKnownFor: 0, estimated: 0 };
const sum = (fields: Partial<UsageSum>): UsageSum => ({ ...noSum, ...fields });
const part = (kind: ContextPart["kind"], tokens: number, label = kind as string): ContextPart => ({ kind, tokens, label, server: "" });
const ledger = (fields: Partial<ContextLedger>): ContextLedger => ({
  model: "m",
  modelName: "M",
  window: 128_000,
  used: 53_760,
  counted: "provider",
  compactAbove: 102_400,
  parts: [],
  cached: 0,
  totals: noSum,
  runs: [],
  priceLabel: "",
  gone: "",
  ...fields,
});

describe("the ring", () => {
  it("says how full the window is, and when older turns are summed up soon", () => {
    expect(ringLabel(ledger({}))).toBe("Context: 42% of 128,000 tokens used");
    expect(ringLabel(ledger({ used: 90_000 }))).toBe("Context: 70% of 128,000 tokens used; older turns are summed up soon");
    expect([87_039, 87_040].map((used) => isNearlyFull(ledger({ used })))).toEqual([false, true]);
    expect(ringLabel(null)).toBe("Context");
  });

  it("says that the model is gone, and not how full a window is that nobody knows", () => {
    const gone = ledger({ window: 0, compactAbove: 0, gone: "There is no model “m”." });
    expect(ringLabel(gone)).toBe("Context: There is no model “m”.");
    expect(isNearlyFull(gone)).toBe(false);
  });

  it("never says that something is nothing, or that what is not all is all", () => {
    expect([percent(0, 100), percent(1, 1_000), percent(999, 1_000), percent(1_000, 1_000), percent(3, 0)]).toEqual(["0%", "<1%", "99%", "100%", "0%"]);
  });
});

describe("what fills the window", () => {
  it("is told by kind, the largest first, tools by server", () => {
    const all = fillings([part("system", 900), part("tools", 500, "Built-in"), part("conversation", 2_000), part("tools", 1_200, "github"), part("files", 0)]);
    expect(all.map(({ name, tokens, parts }) => [name, tokens, parts.map(({ label }) => label)])).toEqual([
      ["Conversation", 2_000, []],
      ["Tools", 1_700, ["github", "Built-in"]],
      ["Instructions", 900, []],
    ]);
  });

  it("has an ink for each kind, and one for kinds that come later", () => {
    expect([inkOf("conversation"), inkOf("pictures"), inkOf("system"), inkOf("dreams" as "system")]).toEqual([1, 7, 8, 8]);
  });

  it("is asked for again when an answer has ended and when a run is over, and not while one streams", () => {
    const quiet = { ...aState(), lastSeq: 0 };
    const open = fold(quiet, { type: "item.created", seq: 1, at: 1, item: anItem({ id: "i_9", position: 9 }) } as never);
    expect(ledgerMoment(open)).toBe(ledgerMoment(quiet));
    const more = fold(open, { type: "item.delta", seq: 2, at: 1, itemId: "i_9", offset: 0, text: "x" } as never);
    expect(ledgerMoment(more)).toBe(ledgerMoment(open));
    const ended = fold(more, { type: "item.completed", seq: 3, at: 1, itemId: "i_9", status: "completed", data: {} } as never);
    expect(ledgerMoment(ended)).not.toBe(ledgerMoment(more));
    const [running, waiting, over] = (["running", "waiting", "completed"] as const).map((status) =>
      ledgerMoment(fold(ended, { type: "run.updated", seq: 4, at: 1, run: aRun({ status }) } as never)),
    );
    expect([running, waiting]).toEqual([ledgerMoment(ended), ledgerMoment(ended)]);
    expect(over).not.toBe(running);
  });

  it("is not asked for where there is no conversation, or none any more", () => {
    expect(ledgerMoment(null)).toBe("");
    expect(ledgerMoment(aState([], 1, { conversation: aConversation({ deletedAt: 5 }) }))).toBe("");
  });
});

describe("a cost", () => {
  it("is about so much, or in words what is not known", () => {
    expect(costWords(sum({ requests: 3, cost: 0.12, costKnownFor: 3 }))).toBe("about $0.12");
    expect(costWords(sum({ requests: 3 }))).toBe("no price known");
    expect(costWords(sum({ requests: 5, cost: 0.12, costKnownFor: 3 }))).toBe("about $0.12; no price known for 2 requests");
    expect(costWords(noSum)).toBe("nothing yet");
  });

  it("is written with as many digits as say something", () => {
    expect([0, 0.00001, 0.0042, 0.05, 0.5, 12, 12.345].map(dollars)).toEqual(["$0", "<$0.0001", "$0.0042", "$0.05", "$0.50", "$12", "$12.35"]);
  });
});

describe("use by day", () => {
  const day = (at: string, model: string, fields: Partial<DayUsage> = {}): DayUsage => ({ ...noSum, day: at, model, modelName: model.toUpperCase(), requests: 1, ...fields });
  const days = [
    day("2026-03-30", "a", { input: 100, output: 20, cost: 0.5, costKnownFor: 1 }),
    day("2026-03-28", "b", { input: 500, output: 50 }),
    day("2026-03-28", "a", { input: 60, output: 40, cost: 0.25, costKnownFor: 1 }),
  ];

  it("is added up by model, the one with the most tokens first", () => {
    expect(byModel(days).map(({ model, ink, requests, input, cost, costKnownFor }) => [model, ink, requests, input, cost, costKnownFor])).toEqual([
      ["b", 1, 1, 500, null, 0],
      ["a", 2, 2, 160, 0.75, 2],
    ]);
  });

  it("has every day, also those without any, and when the clocks change", () => {
    expect(daysBetween("2026-03-28", "2026-03-30")).toEqual(["2026-03-28", "2026-03-29", "2026-03-30"]);
    expect(daysBetween("2026-10-24", "2026-10-26")).toHaveLength(3);
  });

  it("stands on top of each other, by tokens or by cost", () => {
    const period = { since: "2026-03-28", until: "2026-03-30", days };
    expect(columns(period, "tokens").map(({ total, blocks }) => [total, blocks.map(({ model, from, to }) => [model, from, to])])).toEqual([
      [650, [["b", 0, 550], ["a", 550, 650]]],
      [0, []],
      [120, [["a", 0, 120]]],
    ]);
    expect(columns(period, "cost").map(({ total }) => total)).toEqual([0.25, 0, 0.5]);
    expect(dayWords(columns(period, "tokens")[0]!, "tokens")).toMatch(/28.*: 650 tokens; B 550, A 100$/);
    expect(dayWords(columns(period, "tokens")[1]!, "tokens")).toMatch(/29.*: nothing$/);
  });

  it("is measured by few round numbers that reach beyond it", () => {
    expect(marks(0)).toEqual([0, 1]);
    expect(marks(100)).toEqual([0, 25, 50, 75, 100]);
    expect(marks(1_234_567)).toEqual([0, 500_000, 1_000_000, 1_500_000]);
    for (const highest of [1, 3, 7.3, 99, 101, 0.0123, 42_000]) {
      const found = marks(highest);
      expect(found.at(-1)).toBeGreaterThanOrEqual(highest * (1 - 1e-9));
      expect(found.length).toBeLessThanOrEqual(6);
    }
  });
});
