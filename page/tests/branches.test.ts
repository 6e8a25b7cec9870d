import { describe, expect, it } from "vitest";
import type { Branch, BranchNode, Event, Item, Run } from "../src/api/types";
import { busyWords, goOnWords } from "../src/branches/busy";
import { dropping } from "../src/branches/Attached";
import { placeWords } from "../src/branches/BranchBar";
import { answeredBy, goneWords } from "../src/branches/Regenerate";
import { fromWords, kindWords, statusWords, treeRows } from "../src/branches/tree";
import { rowsOf } from "../src/chat/rows";
import { clock, moment, when } from "../src/shell/time";
import { branchesIn, isPathKnown, leafBelow, pathOf, placeOf, withBranches, withBranchOf } from "../src/store/branches";
import { activeRun, withEarlier } from "../src/store/conversation";
import { foldAll } from "../src/store/fold";
import { visit, visited } from "../src/store/leaves";
import { keepPlace, keptPlace } from "../src/store/places";
import { isTheEnd, messageBefore, messageOf, placeAt, placeShown } from "../src/store/placing";
import { anItem, aRun, aState } from "./records";

const aBranch = (number: number, fields: Partial<Branch> = {}): Branch => ({
  number,
  parent: 0,
  before: 3,
  insteadOf: "r_2",
  kind: "edit",
  itemId: `m_b${number}`,
  runId: `r_b${number}`,
  repeats: null,
  createdAt: number,
  ...fields,
});
const branchesOf = (...all: Branch[]) => new Map(all.map((branch) => [branch.number, branch]));
const message = (id: string, runId: string, fields: object = {}) =>
  anItem({ id, runId, kind: "user_message", status: "completed", text: id, ...fields });
const answer = (id: string, runId: string, fields: object = {}) =>
  anItem({ id, runId, status: "completed", text: id, ...fields });
const numbers = (siblings: readonly { branch: Branch | null }[] = []) => siblings.map(({ branch }) => branch?.number ?? 0);

describe("a path", () => {
  it("leads back to the beginning, each branch up to where the next one leaves it", () => {
    const branches = branchesOf(aBranch(1), aBranch(2, { parent: 1, before: 9 }));
    expect(pathOf(branches, 2)).toEqual([
      { number: 2, before: Infinity },
      { number: 1, before: 9 },
      { number: 0, before: 3 },
    ]);
  });
});

describe("branches that are not all known", () => {
  const known = branchesOf(aBranch(5), aBranch(7, { parent: 6 }));

  it("are known where everything that leads to one is", () => {
    expect([0, 5, 6, 7].map((number) => isPathKnown(known, number))).toEqual([true, true, false, false]);
    expect(isPathKnown(withBranches(known, [aBranch(6, { parent: 5 })]), 7)).toBe(true);
  });

  it("are completed by others, and rest where none is new", () => {
    expect(withBranches(known, [aBranch(5, { before: 9 })])).toBe(known);
    expect([...withBranches(known, [aBranch(1)]).keys()]).toEqual([5, 7, 1]);
  });

  it("come with earlier items", () => {
    const page = { items: [message("m_0", "r_0", { position: 1 })], branches: [aBranch(3)], hasEarlier: false };
    const state = withEarlier(aState([message("m_2", "r_2", { position: 5 })], 9), page);
    expect(state.branches.get(3)).toEqual(aBranch(3));
  });

  it("are those of the tree beside the first", () => {
    const node = { messages: 1, firstWords: "", lastWords: "", leftAfter: null, leftWords: "", updatedAt: 1, status: "completed", model: "" } as const;
    const first = { ...aBranch(0), ...node, kind: null };
    expect(branchesIn({ branches: [first, { ...aBranch(2), ...node }], chosen: 0 })).toMatchObject([aBranch(2)]);
  });
});

describe("what stands in one place", () => {
  const root = message("m_2", "r_2", { position: 3 });

  it("is nothing beside a message that nobody changed", () => {
    expect(placeOf(branchesOf(aBranch(1)), message("m_1", "r_1"))).toBeNull();
  });

  it("are other messages, and other answers to the same one", () => {
    const branches = branchesOf(
      aBranch(1),
      aBranch(2, { kind: "retry", repeats: "m_2" }),
      aBranch(3, { kind: "retry", repeats: "m_b1" }),
      aBranch(4, { kind: "replay", repeats: "m_2" }),
    );
    const first = placeOf(branches, root);
    expect(first?.messages.map(numbers)).toEqual([[0, 2], [1, 3]]);
    expect([first?.message, first?.answer]).toEqual([0, 0]);
    // As seen from another answer to the edited one: the same place.
    const other = placeOf(branches, message("m_b3", "r_b3", { branch: 3 }));
    expect(other?.root).toBe("r_2");
    expect([other?.message, other?.answer]).toEqual([1, 1]);
  });

  it("has no arrows for a replay, which is no way on", () => {
    const branches = branchesOf(aBranch(1), aBranch(2, { kind: "replay", repeats: "m_2" }));
    expect(placeOf(branches, message("m_b2", "r_b2", { branch: 2 }))).toBeNull();
  });

  it("is shown again with what was looked at last below it", () => {
    // Branch 2 leaves branch 1 further on, branch 3 leaves the first one before the place.
    const branches = branchesOf(aBranch(1), aBranch(2, { parent: 1, before: 9, insteadOf: "r_x" }), aBranch(3, { before: 1, insteadOf: "r_1" }));
    const place = placeOf(branches, root)!;
    const [was, edited] = place.messages as [(typeof place.messages)[0], (typeof place.messages)[0]];
    expect(leafBelow(branches, [], edited, place)).toBe(1);
    expect(leafBelow(branches, [0, 2, 1], edited, place)).toBe(2);
    expect(leafBelow(branches, [2, 3, 1, 0], was, place)).toBe(0);
    expect(leafBelow(branches, [2, 3, 77], was, place)).toBe(0);
  });
});

describe("the branches that were looked at", () => {
  const kept = new Map<string, string>();
  const storage = { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => kept.set(key, value) } as unknown as Storage;

  it("are remembered in a tab, the last one first", () => {
    for (const branch of [0, 1, 2, 1]) visit("c_1", branch, storage);
    expect(visited("c_1", storage)).toEqual([1, 2]);
    visit("c_1", 0, storage);
    expect(visited("c_1", storage)).toEqual([0, 1, 2]);
    expect(visited("c_2", storage)).toEqual([]);
    kept.set("pilothouse.leaves.c_3", "{");
    expect(visited("c_3", storage)).toEqual([]);
  });
});

describe("events of other branches", () => {
  const created = (seq: number, item: Item) => ({ type: "item.created", seq, at: 2, item }) as Event;
  const updated = (seq: number, run: Run) => ({ type: "run.updated", seq, at: 2, run }) as Event;
  const fork = { parent: 0, before: 3, insteadOf: "r_2", kind: "edit", repeats: null };
  const items = [message("m_1", "r_1", { position: 1 }), answer("a_1", "r_1", { position: 2 }), message("m_2", "r_2", { position: 3 })];

  it("are not shown, and count among those that stand in the same place", () => {
    const before = aState(items, 3, { runs: [aRun({ id: "r_2", messageItemId: "m_2" })] });
    const edited = message("m_b1", "r_b1", { branch: 1, position: 4, data: { fork } });
    const run = aRun({ id: "r_b1", branch: 1, messageItemId: "m_b1", status: "queued" });
    const after = foldAll(before, [created(4, edited), updated(5, run), created(6, answer("a_b1", "r_b1", { branch: 1, position: 5 }))]);
    expect(after.order).toEqual(["m_1", "a_1", "m_2"]);
    expect(after.branches.get(1)).toMatchObject({ insteadOf: "r_2", itemId: "m_b1", runId: "r_b1" });
    expect([before.conversation.branches, after.conversation.branches]).toEqual([0, 1]);
    expect([...after.runs.keys()]).toEqual(["r_2"]);
    expect(activeRun(after)?.id).toBe("r_2");
    expect([...after.elsewhere.keys()]).toEqual(["r_b1"]);
    const ended = foldAll(after, [updated(7, { ...run, status: "completed" })]);
    expect(ended.elsewhere.size).toBe(0);
    expect([ended.gap, ended.lastSeq]).toEqual([false, 7]);
    expect(ended.runs).toBe(before.runs);
  });

  it("belong to the path where their run leads to it, and not where it was left behind", () => {
    const branch = aBranch(1);
    const shared = aRun({ id: "r_1", messageItemId: "m_1" });
    const left = aRun({ id: "r_2", messageItemId: "m_2", status: "queued" });
    const own = message("m_b1", "r_b1", { branch: 1, position: 4, data: { fork } });
    const state = aState([items[0]!, own], 4, { branch: 1, branches: [branch], runs: [shared, left] });
    expect([[...state.runs.keys()], [...state.elsewhere.keys()]]).toEqual([["r_1"], ["r_2"]]);
    const after = foldAll(state, [
      created(5, answer("a_1", "r_1", { position: 5 })),
      created(6, answer("a_2", "r_2", { position: 6 })),
      created(7, answer("a_b1", "r_b1", { branch: 1, position: 7 })),
      created(8, message("m_3", "r_3", { position: 8 })),
    ]);
    expect(after.order).toEqual(["m_1", "m_b1", "a_1", "a_b1"]);
  });

  it("bring the todos of the path alone", () => {
    const todos = { todos: [{ id: 1, title: "Elsewhere" }], updatedAt: 9 };
    const other = anItem({ id: "x", kind: "tool_call", branch: 1, runId: "r_b1", data: { todos } });
    expect(foldAll(aState(), [created(2, other)]).todos.todos).toEqual([]);
    expect(foldAll(aState([], 1, { branch: 1 }), [created(2, other)]).todos.todos).toHaveLength(1);
  });

  it("tell of a branch once", () => {
    const made = withBranchOf(new Map(), message("m_b1", "r_b1", { branch: 1, data: { fork } }));
    expect(withBranchOf(made, message("again", "r_b1", { branch: 1, data: { fork } }))).toBe(made);
    expect(withBranchOf(made, message("m_9", "r_9"))).toBe(made);
  });
});

describe("rows", () => {
  const items = [
    message("m_1", "r_1", { position: 1 }),
    answer("a_1", "r_1", { position: 2 }),
    message("m_2", "r_2", { position: 3 }),
    answer("a_2", "r_2", { position: 5 }),
    answer("late", "r_1", { position: 6 }),
  ];
  const rowsIn = (all: readonly Item[], shown = {}, runs: Run[] = []) =>
    rowsOf(all.map(({ id }) => id), new Map(all.map((item) => [item.id, item])), new Map(runs.map((run) => [run.id, run])), shown);

  it("offer what can be done about an answer at its last words, and elsewhere in a line of its own", () => {
    const call = anItem({ id: "c", kind: "tool_call", runId: "r_2", position: 5 });
    const rows = rowsIn([...items.slice(0, 3), call]);
    expect(rows.find((row) => row.key === "a_1")).toMatchObject({ foot: { runId: "r_1", messageId: "m_1" } });
    expect(rows.at(-1)).toMatchObject({ kind: "foot", foot: { runId: "r_2", messageId: "m_2" } });
  });

  it("offer nothing about a command of the person", () => {
    const command = message("m", "r_1", { data: { command: "compact" } });
    expect(rowsIn([command, anItem({ id: "s", kind: "compaction", runId: "r_1" })]).some(({ kind }) => kind === "foot")).toBe(false);
  });

  it("end with the answer that one goes on from, whatever came after", () => {
    const after = (runId: string) => ({ until: { runId, instead: false } });
    expect(rowsIn(items, after("r_1")).map(({ key }) => key)).toEqual(["m_1", "a_1", "late"]);
    expect(rowsIn(items, after("r_2")).map(({ key }) => key)).toContain("a_2");
  });

  it("end before the message in whose place another one stands, and nowhere if it is not here", () => {
    expect(rowsIn(items, { until: { runId: "r_2", instead: true } }).map(({ key }) => key)).toEqual(["m_1", "a_1", "late"]);
    expect(rowsIn(items, { until: { runId: "r_1", instead: true } })).toEqual([]);
    expect(rowsIn(items, { until: { runId: "gone", instead: false } })).toHaveLength(rowsIn(items).length);
  });

  it("fold what was hidden into one line", () => {
    const thought = anItem({ id: "t", kind: "thinking", runId: "r_1", position: 2 });
    const all = [items[0]!, thought, items[1]!, items[2]!];
    const rows = rowsIn(all, { hidden: new Set(["t", "a_1", "m_2"]) });
    expect(rows.map(({ key }) => key)).toEqual(["m_1", "hidden-t", "hidden-m_2", "foot-r_2"]);
    expect(rows[1]).toMatchObject({ itemId: "t", messageId: "m_1", isMessage: false });
  });
});

describe("hidden items", () => {
  it("are known from the snapshot, and from what is told later", () => {
    const state = aState([message("m_1", "r_1", { data: { hidden: true } }), answer("a_1", "r_1")]);
    expect([...state.hidden]).toEqual(["m_1"]);
    const changed = (seq: number, itemId: string, hidden: boolean) => ({ type: "item.updated", seq, at: 2, itemId, status: null, data: { hidden } }) as Event;
    const after = foldAll(state, [changed(2, "m_1", false), changed(3, "a_1", true)]);
    expect([...after.hidden]).toEqual(["a_1"]);
    expect(foldAll(after, [changed(4, "a_1", true)]).hidden).toBe(after.hidden);
  });
});

describe("the tree", () => {
  const node = (number: number, fields: Partial<BranchNode> = {}): BranchNode => ({
    number,
    parent: 0,
    before: 0,
    kind: number ? "edit" : null,
    insteadOf: "",
    itemId: "",
    runId: "",
    repeats: null,
    createdAt: 0,
    messages: 1,
    firstWords: "",
    lastWords: "",
    updatedAt: 0,
    status: "completed",
    model: "",
    leftAfter: null,
    leftWords: "",
    ...fields,
  });

  it("has each branch below the one that it leaves, by place", () => {
    const nodes = [node(0), node(1, { before: 9 }), node(2, { before: 3 }), node(3, { parent: 1, before: 20 }), node(4, { before: 3 })];
    expect(treeRows(nodes).map(({ node: { number }, depth }) => [number, depth])).toEqual([[0, 0], [2, 1], [4, 1], [1, 1], [3, 2]]);
  });

  it("draws a line to each branch, and on to those that leave the same one further down", () => {
    const nodes = [node(0), node(1, { before: 3 }), node(2, { before: 3 }), node(3, { before: 9 }), node(4, { parent: 1, before: 20 })];
    expect(treeRows(nodes).map(({ node: { number }, rails, isFirstThere }) => [number, rails, isFirstThere])).toEqual([
      [0, [], true],
      [1, [true], true],
      [4, [true, false], true],
      [2, [true], false],
      [3, [false], true],
    ]);
  });

  it("says where each leaves", () => {
    expect([fromWords(node(0)), fromWords(node(1))]).toEqual(["", "from: the beginning"]);
    expect(fromWords(node(1, { leftAfter: "m_1", leftWords: "Which\n tide?" }))).toBe("from: “Which tide?”");
    expect(fromWords(node(1, { leftAfter: "m_1" }))).toBe("from: a message without words");
  });

  it("goes only so far to the right, and loses none whose parent is not told", () => {
    const deep = Array.from({ length: 12 }, (_, number) => node(number, { parent: number - 1 }));
    expect(treeRows(deep).at(-1)).toMatchObject({ depth: 6 });
    expect(treeRows([node(5, { parent: 4 })])).toHaveLength(1);
  });

  it("says how each came about, how it stands and when", () => {
    expect([kindWords(node(0)), kindWords(node(1, { kind: "replay" }))]).toEqual(["First branch", "Replay"]);
    expect([statusWords(node(0)), statusWords(node(0, { status: "waiting" }))]).toEqual(["", "waits for you"]);
    const noon = new Date(2026, 10, 17, 12, 5).getTime();
    expect(when(noon / 1000, noon)).toBe("12:05");
    expect(when(noon / 1000, noon + 86_400_000)).toBe("17 Nov, 12:05");
    expect(when(noon / 1000, noon + 366 * 86_400_000)).toBe("17 Nov 2026, 12:05");
    expect([clock(noon / 1000), moment(noon / 1000, noon), moment(noon / 1000, 0)]).toEqual(["12:05", "12:05:00", "17 Nov 2026, 12:05:00"]);
  });
});

describe("answers that a branch leaves behind", () => {
  it("are finished first where they are at work, and left waiting where they wait for the person", () => {
    expect(busyWords(1, 0)).toContain("An answer after this place is still at work.");
    expect(goOnWords(1, 0)).toBe("Let it finish first");
    expect(busyWords(0, 1)).toContain("An answer after this place waits for you.");
    expect(busyWords(0, 1)).not.toContain("finish");
    expect(goOnWords(0, 2)).toBe("Leave them waiting");
    expect(busyWords(2, 1)).toContain("2 answers after this place are still at work. Another one waits for you");
  });
});

describe("where a draft begins a branch", () => {
  const kept = new Map<string, string>();
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  } as Storage;

  it("is kept for each conversation until it is forgotten", () => {
    const place = { runId: "r_1", instead: false, itemId: "m_1", words: "First", at: 0, position: 1, branch: 2 };
    keepPlace("c_1", place, storage);
    expect(keptPlace("c_1", storage)).toEqual(place);
    expect(keptPlace("c_2", storage)).toBeNull();
    keepPlace("c_1", null, storage);
    expect(kept.size).toBe(0);
  });

  it("counts as none where it cannot be read", () => {
    for (const damaged of ['{"runId": 3', '{"runId": "r_1", "branch": 2}', "null", "3"]) {
      kept.set("pilothouse.branch-from.c_1", damaged);
      expect(keptPlace("c_1", storage)).toBeNull();
    }
  });

  const items = [
    message("m_1", "r_1", { position: 1, text: "First\nquestion" }),
    answer("a_1", "r_1", { position: 2, data: { model: "one" } }),
    message("m_2", "r_2", { position: 3 }),
    answer("a_2", "r_2", { position: 4 }),
  ];
  const open = { ...aState(items), branches: branchesOf(aBranch(1)) };
  const first = messageOf(open, "r_1")!;

  it("is after an answer, or before an own message: after the answer that stands before that", () => {
    expect(messageBefore(open, "m_2")?.id).toBe("m_1");
    expect(messageBefore(open, "m_1")).toBeNull();
    expect(placeAt(open, first, true)).toEqual({ runId: "r_1", instead: true, itemId: "m_1", words: "First question", at: 0, position: 1, branch: 0 });
  });

  it("is shown only on paths that lead through it, and said in the bar", () => {
    const [early, late] = [placeAt(open, first, false), placeAt(open, messageOf(open, "r_2")!, false)];
    const there = { ...open, branch: 1 };
    expect(placeShown({ open, branching: late })).toBe(late);
    expect(placeShown({ open: there, branching: early })).toBe(early);
    expect(placeShown({ open: there, branching: late })).toBeNull();
    expect([isTheEnd({ open, branching: early }), isTheEnd({ open, branching: late }), isTheEnd({ open: there, branching: late })]).toEqual([false, true, false]);
    expect(placeWords(early, true, false)).toBe("New branch from here. What followed stays as it is.");
    expect(placeWords(late, true, true)).toContain("goes on from here");
    expect(placeWords(early, false, false)).toContain("after the answer to “First question”. That is not in the branch shown now.");
    expect(placeWords({ ...early, instead: true, words: "" }, false, false)).toContain("instead of a message without words");
  });

  it("is regenerated with the model that answered there, or that was to", () => {
    expect([answeredBy(open, "r_1"), answeredBy(open, "r_2"), answeredBy(null, "r_1")]).toEqual(["one", "", ""]);
    const runs = new Map([["r_2", aRun({ id: "r_2", options: { ...aRun({}).options, modelId: "two" } })]]);
    expect(answeredBy({ ...open, runs }, "r_2")).toBe("two");
  });
});

describe("what an edited message leaves out", () => {
  it("is told apart by what it is", () => {
    const attached = [
      { key: "picture 0", name: "a.png", picture: 0 },
      { key: "picture 2", name: "b.png", picture: 2 },
      { key: "d_1", name: "c.pdf", picture: null },
    ];
    expect(dropping(attached, new Set(["picture 2", "d_1", "gone"]))).toEqual({ dropPictures: [2], dropDocuments: ["d_1"] });
    expect(dropping(attached, new Set())).toEqual({ dropPictures: [], dropDocuments: [] });
  });
});

describe("a model that answered", () => {
  const models = [{ id: "here" }];

  it("answers again where it is there, a script of a command line, or not known", () => {
    expect(["here", "scripted:talk.json", ""].map((model) => goneWords(models, model))).toEqual(["", "", ""]);
  });

  it("does not where it is gone, and that is said", () => {
    expect(goneWords(models, "gone")).toBe("“gone” is not among your models any more");
  });
});
