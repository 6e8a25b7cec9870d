import { describe, expect, it } from "vitest";
import { doingsOf, picturesOf, spent, summaryOf, troublesOf, underWay } from "../src/activity/activity";
import type { Item } from "../src/api/types";
import { rowName } from "../src/calls/call";
import { inPast, inVain } from "../src/calls/past";
import { holds, placeOf, rowsOf } from "../src/chat/rows";
import { aCall, anApproval, anItem } from "./records";

/** The lines without what can be done about an answer. */
const rowsIn = (items: readonly Item[]) =>
  rowsOf(items.map(({ id }) => id), new Map(items.map((item) => [item.id, item])), new Map())
    .filter(({ kind }) => kind !== "foot")
    .map((row) => ("foot" in row ? Object.fromEntries(Object.entries(row).filter(([name]) => name !== "foot")) : row) as typeof row);

describe("what is done between two things that are said", () => {
  const said = (id: string, text: string, fields: object = {}) => anItem({ id, text, status: "completed", ...fields });

  it("is one line: calls, thinking, reminders, and the questions about them", () => {
    const rows = rowsIn([
      anItem({ id: "t", kind: "thinking" }),
      aCall({}, { id: "a" }),
      anApproval({ callItemId: "a" }, { id: "q" }),
      said("nothing", ""),
      anItem({ id: "again", kind: "notice", status: "completed", data: { code: "retrying" } }),
      anItem({ id: "r", kind: "reminder" }),
      aCall({}, { id: "b" }),
      said("words", "Now the next."),
      aCall({}, { id: "c" }),
    ]);
    expect(rows).toEqual([
      { kind: "activity", key: "t", itemIds: ["t", "a", "q", "r", "b"], tells: false },
      { kind: "item", key: "words", itemId: "words" },
      // A single step has a line of its own, and what is awaited stands below it.
      { kind: "activity", key: "c", itemIds: ["c"], tells: false },
    ]);
    expect(rows.map((row) => holds(row, "b"))).toEqual([true, false, false]);
    expect(placeOf(rows, "q")).toBe("activity-t");
  });

  it("tells what is awaited while nothing comes after it", () => {
    const [row] = rowsIn([aCall({}, { id: "a" }), aCall({}, { id: "b" })]);
    expect(row?.kind === "activity" && row.tells).toBe(true);
  });

  it("is another for another run, and for what the agent or a server asks the person", () => {
    const rows = rowsIn([
      aCall({}, { id: "a", runId: "r_1" }),
      aCall({}, { id: "b", runId: "r_2" }),
      anItem({ id: "q", kind: "question", runId: "r_2", data: { kind: "collaboration" } }),
      aCall({}, { id: "c", runId: "r_2" }),
    ]);
    expect(rows.map(({ kind, key }) => `${kind} ${key}`)).toEqual(["activity a", "activity b", "item q", "activity c"]);
  });
});

describe("the line of what was done", () => {
  const call = (id: string, began: number, elapsedMs: number, fields: object = {}) =>
    aCall({ phases: { executing: began }, elapsedMs }, { id, status: "completed", ...fields });

  it("counts the tools and their time; what went on side by side counts once", () => {
    const calls = [call("a", 10, 1_000), call("b", 10.5, 1_000), call("c", 20, 600)];
    expect(spent(calls)).toBe(2_100);
    expect(summaryOf(doingsOf(calls))).toBe("Used 3 tools · 2.1 s");
    expect(summaryOf(doingsOf([call("a", 1, 40)]))).toBe("Used 1 tool · 40 ms");
  });

  it("tells of thinking and reminders where no tool was used", () => {
    const thought = anItem({ kind: "thinking", status: "completed", data: { durationMs: 3_200 } });
    const reminder = anItem({ id: "i_2", kind: "reminder", status: "completed" });
    expect(summaryOf(doingsOf([thought, reminder]))).toBe("Thought for 3.2 s");
    expect(summaryOf(doingsOf([reminder]))).toBe("Reminders to the model");
  });

  it("says what did not go well", () => {
    const denied = aCall({ decision: { verdict: "deny", authority: "person" } }, { id: "d", status: "failed" });
    const calls = [aCall({}, { status: "failed" }), denied, aCall({}, { id: "t", status: "timed_out" }), call("c", 1, 1), aCall({ exitCode: 2 }, { id: "e", status: "completed" })];
    expect(troublesOf(calls).map(({ words, tone }) => `${words} ${tone}`)).toEqual([
      "1 failed bad",
      "1 exited with an error warning",
      "1 not allowed warning",
      "1 timed out warning",
    ]);
  });

  it("shows what waits for the person before what is at work", () => {
    const asking = aCall({ phase: "waiting_approval" }, { id: "q", status: "waiting" });
    const working = aCall({ phase: "executing" }, { id: "w" });
    const coming = aCall({ phase: "started" }, { id: "s" });
    const over = call("o", 1, 1);
    const order = (...items: Item[]) => underWay(doingsOf(items)).map(({ id }) => id);
    expect(order(coming, over, working, asking)).toEqual(["q", "w", "s"]);
    // One that was answered about waits for the answers about the others.
    expect(order(working, asking, anApproval({ callItemId: "q" }, { id: "a", status: "completed" }))).toEqual(["w", "q"]);
  });

  it("takes the last word where a call was asked about again", () => {
    const { questions } = doingsOf([anApproval({ callItemId: "a" }, { id: "1" }), anApproval({ callItemId: "a" }, { id: "2" })]);
    expect(questions.get("a")?.id).toBe("2");
  });
});

describe("pictures that tools drew", () => {
  it("stand in the flow, the last few of them", () => {
    const image = (index: number) => ({ kind: "image", index, text: "", bytes: 9 });
    const calls = [aCall({ content: [image(0), image(1), image(2)] }, { id: "a" }), aCall({ content: [image(0), { kind: "text", index: 1, text: "x" }, image(2)] }, { id: "b" })];
    expect(picturesOf(calls).map(({ itemId, part }) => `${itemId} ${part.index}`)).toEqual(["a 1", "a 2", "b 0", "b 2"]);
  });
});

describe("a row", () => {
  it.each([
    ["Editing file: app.py", "Edited app.py"],
    ["Reading file: docs/a: b.md", "Read docs/a: b.md"],
    ["Running: npm test", "Ran npm test"],
    ["Checking for errors", "Checked for errors"],
    ["Checking for errors: 3 files", "Checked for errors in 3 files"],
    ["Asking: Which unit?", "Asked: Which unit?"],
    ["Asking for 10 more rounds", "Asked for 10 more rounds"],
    ["Reading the todos", "Read the todos"],
    // What a plugin says of its own tool stays as it is.
    ["Greeting: Ada", "Greeting: Ada"],
    ["constructor: x", "constructor: x"],
  ])("says of %s: %s", (doing, done) => {
    expect(inPast(doing)).toBe(done);
  });

  it.each([
    ["Running: npm test", "Run npm test"],
    ["Editing file: app.py", "Edit app.py"],
    ["Finding files", "Look for files"],
    ["Asking for 5 more rounds", "Ask for 5 more rounds"],
    ["Weighing anchor", "Weighing anchor"],
  ])("what did not happen is not told as if it went on: %s", (doing, wanted) => {
    expect(inVain(doing)).toBe(wanted);
  });

  it("names a server and its tool", () => {
    expect(rowName(aCall({ server: "Harbour", serverTool: "harbour.tides.now" }))).toBe("harbour: tides.now");
    expect(rowName(aCall({ tool: "think" }))).toBe("think");
  });
});
