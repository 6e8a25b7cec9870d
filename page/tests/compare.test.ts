import { describe, expect, it } from "vitest";
import type { Branch, Item } from "../src/api/types";
import { modelOf, spentOf } from "../src/compare/facts";
import { groupAtEnd } from "../src/compare/group";
import { atWork } from "../src/compare/runs";
import { foldAll } from "../src/store/fold";
import { anItem, aRun, aState } from "./records";

const aBranch = (fields: Partial<Branch> & { number: number }): Branch => ({
  parent: 0,
  before: 3,
  insteadOf: "r_1",
  kind: "compare",
  itemId: `m_${fields.number}`,
  runId: `r_b${fields.number}`,
  repeats: "m_0",
  createdAt: 1,
  ...fields,
});

const message = (id: string, runId: string, fields: Partial<Item> = {}) => anItem({ kind: "user_message", id, runId, status: "completed", ...fields } as never);
const asked = message("m_0", "r_1", { position: 3 });
const two = [aBranch({ number: 1 }), aBranch({ number: 2 })];

describe("a comparison at the end of a path", () => {
  it("has the first answer and those beside it, in the order of their models", () => {
    const group = groupAtEnd(aState([message("m_a", "r_0"), asked], 1, { branches: [...two].reverse() }));
    expect(group).toEqual({
      itemId: "m_0",
      members: [
        { branch: 0, runId: "r_1" },
        { branch: 1, runId: "r_b1" },
        { branch: 2, runId: "r_b2" },
      ],
    });
  });

  it("is the same one on the path of each of its answers", () => {
    const fork = { parent: 0, before: 3, insteadOf: "r_1", kind: "compare", repeats: "m_0" };
    const there = message("m_2", "r_b2", { position: 9, branch: 2, data: { fork } as never });
    const shown = aState([message("m_a", "r_0"), there], 1, { branch: 2, branches: two });
    expect(groupAtEnd(shown)).toEqual(groupAtEnd(aState([asked], 1, { branches: two })));
  });

  it("is over once another message follows", () => {
    expect(groupAtEnd(aState([asked, message("m_9", "r_9", { position: 9 })], 1, { branches: two }))).toBeNull();
  });

  it("has neither answers that were asked for later nor replays", () => {
    const others = [aBranch({ number: 3, kind: "retry" }), aBranch({ number: 4, kind: "replay" })];
    expect(groupAtEnd(aState([asked], 1, { branches: others }))).toBeNull();
    expect(groupAtEnd(aState([asked], 1, { branches: [...two, ...others] }))?.members).toHaveLength(3);
  });

  it("begins in the branch of a message that was edited for it", () => {
    const edited = aBranch({ number: 1, kind: "edit", itemId: "m_e", runId: "r_e", repeats: null });
    const beside = aBranch({ number: 2, repeats: "m_e" });
    const shown = aState([message("m_e", "r_e", { branch: 1 })], 1, { branch: 1, branches: [edited, beside] });
    expect(groupAtEnd(shown)?.members[0]).toEqual({ branch: 1, runId: "r_e" });
  });

  it("comes with the messages that begin its branches", () => {
    const fork = { parent: 0, before: 3, insteadOf: "r_1", kind: "compare", repeats: "m_0" };
    const other = message("m_1", "r_b1", { position: 4, branch: 1, data: { fork } as never });
    const state = foldAll(aState([], 1), [
      { type: "item.created", seq: 2, at: 1, item: asked as never },
      { type: "item.created", seq: 3, at: 1, item: other as never },
    ]);
    expect(groupAtEnd(state)?.members).toEqual([
      { branch: 0, runId: "r_1" },
      { branch: 1, runId: "r_b1" },
    ]);
    expect(state.order).toEqual(["m_0"]);
  });
});

describe("the runs of a comparison", () => {
  const group = { itemId: "m_0", members: [{ branch: 0, runId: "r_1" }, { branch: 1, runId: "r_b1" }] };

  it("are at work until they end, also in a branch that is not drawn yet", () => {
    const here = aRun({ id: "r_1", status: "completed" });
    const there = aRun({ id: "r_b1", status: "waiting", branch: 1 });
    const open = aState([asked], 1, { runs: [here, there] });
    expect(atWork({ open, beside: new Map() }, group).map(({ id }) => id)).toEqual(["r_b1"]);
  });

  it("tell what they took in all their turns", () => {
    const answer = (id: string, input: number, cost: number | null) =>
      anItem({ id, text: "Yes.", data: { model: "alpha", usage: { input, output: 5 }, cost } });
    const run = aRun();
    const open = aState([answer("i_1", 1000, 0.01), answer("i_2", 2000, 0.02)], 1, { runs: [run] });
    expect(spentOf(open, "r_1")).toEqual(["3.0k tokens in, 10 out", "about $0.03"]);
    expect(spentOf(open, "r_2")).toEqual([]);
    expect(modelOf(open, run)).toBe("alpha");
    expect(modelOf(open, aRun({ options: { ...run.options, modelId: "beta" } }))).toBe("beta");
  });
});
