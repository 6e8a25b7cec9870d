import { describe, expect, it } from "vitest";
import type { QuestionOf } from "../src/api/items";
import type { Item, Todo } from "../src/api/types";
import { changesOf, filesOf } from "../src/diff/changes";
import { keptPanel } from "../src/panel/state";
import { answered, chosenBy, permissionOf } from "../src/questions/question";
import { shownOf } from "../src/calls/shown";
import { rowsOf } from "../src/chat/rows";
import { toggleBuiltIn } from "../src/shell/builtIn";
import { seenFrom } from "../src/shell/paths";
import { chooseBuiltIn } from "../src/shell/selection";
import { fold } from "../src/store/fold";
import { progressOf, ticked, waitsFor } from "../src/todos/progress";
import { aCall, anItem, aRun, aState } from "./records";

const change = (path: string, kind = "modified", more: object = {}) => ({ path, kind, diff: "", added: 2, removed: 1, changeId: `c_${path}`, ...more });
const call = (id: string, data: object, fields: Parameters<typeof aCall>[1] = {}) => aCall(data, { id, status: "completed", runId: "r_1", ...fields });

describe("changes of files", () => {
  it("are read from a call, each with whether it was put back", () => {
    const item = call("i_1", { changes: [change("/w/a"), change("/w/b")], undone: ["c_/w/b"] });
    expect(changesOf(item).map(({ path, isUndone }) => [path, isUndone])).toEqual([
      ["/w/a", false],
      ["/w/b", true],
    ]);
    expect(changesOf(call("i_2", {}))).toEqual([]);
  });

  it("are one line for each file, wherever it went", () => {
    const items = [
      call("i_1", { changes: [change("/w/a", "created")] }),
      call("i_2", { changes: [change("/w/a")] }),
      call("i_3", { changes: [change("/w/c", "renamed", { from: "/w/a" })] }),
      call("i_4", { changes: [change("/w/d", "deleted")], undone: ["c_/w/d"] }),
    ];
    const files = filesOf(items).map(({ path, kind, added, isUndone }) => [path, kind, added, isUndone]);
    expect(files).toEqual([
      ["/w/c", "renamed", 6, false],
      ["/w/d", "deleted", 2, true],
    ]);
  });

  it("are named as seen from the working directory, component by component", () => {
    expect(seenFrom("/w/boat/", "/w/boat/src/a.py")).toBe("src/a.py");
    expect(seenFrom("/w/boat", "/w/boathouse/a.py")).toBe("/w/boathouse/a.py");
    expect(seenFrom(null, "/w/a")).toBe("/w/a");
  });

  it("stand below the last item of their run once it is over", () => {
    const items: Item[] = [call("i_1", { changes: [change("/w/a")] }), anItem({ id: "i_2", runId: "r_1", position: 2 })];
    const map = new Map(items.map((item) => [item.id, item]));
    const order = items.map((item) => item.id);
    const rows = (status: "running" | "completed") => rowsOf(order, map, new Map([["r_1", aRun({ id: "r_1", status })]]));
    expect(rows("running").map((row) => row.kind)).toEqual(["activity", "item", "foot"]);
    expect(rows("completed").at(-1)).toEqual({ kind: "changes", key: "changes-r_1", runId: "r_1", itemIds: ["i_1"] });
    // That they were undone is told below, and moves nothing.
    map.set("i_3", anItem({ id: "i_3", kind: "notice", runId: "r_1", position: 3, data: { code: "undone" } }));
    order.push("i_3");
    expect(rows("completed").map((row) => row.kind)).toEqual(["activity", "item", "changes", "item"]);
  });
});

describe("a call in a tool's own words", () => {
  it("has its line, its details and its picture; a server has none", () => {
    const shown = { summary: "Creating file: a", details: ["2 lines"], icon: "file" };
    expect(shownOf(call("i_1", { shown }))).toEqual(shown);
    expect(shownOf(call("i_1", { shown, server: "s_1" }))).toBeNull();
    expect(shownOf(call("i_1", {}))).toBeNull();
  });
});

describe("todos", () => {
  const todos: Todo[] = [
    { id: 1, title: "one", status: "completed" },
    { id: 2, title: "two", status: "in-progress", subtasks: [{ title: "a", done: true }, { title: "b" }] },
    { id: 3, title: "three", status: "blocked", blockedReason: "why", dependencies: [1, 2] },
    { id: 4, title: "four" },
  ];

  it("say how far they are", () => {
    expect(progressOf(todos)).toEqual({ done: 1, total: 4, part: 0.375, current: todos[1] });
    expect(progressOf([])).toEqual({ done: 0, total: 0, part: 0, current: null });
    expect(waitsFor(todos[2] as Todo, todos)).toEqual(["two"]);
  });

  it("are ticked and opened again by the person", () => {
    expect(ticked(todos, 3, true)[2]).toEqual({ id: 3, title: "three", status: "completed", dependencies: [1, 2] });
    expect(ticked(todos, 1, false)[0]).toEqual({ id: 1, title: "one", status: "not-started" });
  });

  it("follow the calls that change them, and an older list never replaces a newer one", () => {
    const state = aState([call("i_1", {}, { status: "streaming" })]);
    const done = (seq: number, list: unknown) =>
      ({ type: "item.completed", seq, at: 2, itemId: "i_1", status: "completed", data: { todos: list } }) as const;
    const next = fold(state, done(2, { todos, updatedAt: 5 }));
    expect(next.todos.todos).toHaveLength(4);
    expect(fold(next, done(3, { todos: [], updatedAt: 4 })).todos.todos).toHaveLength(4);
    expect(fold(next, done(3, "nonsense")).todos.todos).toHaveLength(4);
  });
});

describe("a question of the agent's", () => {
  const asked = anItem({
    kind: "question",
    status: "waiting",
    text: "Which?",
    data: { kind: "collaboration", choices: [{ id: "1", label: "This" }, { id: "2", label: "That" }], authorizes: "", duration: "" },
  }) as QuestionOf<"collaboration">;
  const press = (key: string, more: object = {}) => ({ key, ctrlKey: false, metaKey: false, altKey: false, target: null, ...more });
  const choices = [
    { id: "1", label: "This", note: "", durations: [] },
    { id: "2", label: "That", note: "", durations: [] },
  ];

  it("is answered by the number of a choice, but not while something is written", () => {
    expect(chosenBy(press("2"), choices)?.id).toBe("2");
    expect(chosenBy(press("3"), choices)).toBeNull();
    expect(chosenBy(press("1", { ctrlKey: true }), choices)).toBeNull();
    expect(chosenBy(press("1", { target: { matches: () => true } }), choices)).toBeNull();
  });

  it("says what was answered, and what was allowed for how long", () => {
    const settled = (data: object) => answered({ ...asked, status: "completed", data: { ...asked.data, ...data } });
    expect(settled({ answer: { choice: "2" } })).toBe("Which? You answered: That");
    expect(settled({ answer: { text: "Neither" } })).toBe("Which? You answered: Neither");
    expect(settled({ authorizes: "file_operations.create_file", duration: "5m", answer: { choice: "approve", text: "once" } })).toBe(
      "Which? You allowed file_operations.create_file for 5 minutes. You added: once",
    );
    expect(settled({ authorizes: "file_operations.create_file", answer: { choice: "decline" } })).toBe("Which? You declined.");
    expect(answered({ ...asked, status: "cancelled" })).toBe("Which? This was not answered.");
    expect(permissionOf(asked)).toBeNull();
  });
});

describe("the panel", () => {
  it("is as it was left, and as at the beginning when that makes no sense", () => {
    expect(keptPanel('{"isOpen":true,"tab":"terminal","width":500}')).toEqual({ isOpen: true, tab: "terminal", width: 500 });
    expect(keptPanel('{"isOpen":"yes","tab":"nonsense","width":1e9}')).toEqual({ isOpen: false, tab: "todos", width: 760 });
    expect(keptPanel("{").isOpen).toBe(false);
  });
});

describe("the built-in tools of a conversation", () => {
  const names = ["think", "todo_operations", "terminal_operations"];
  const all = names.map((name) => ({ name, label: name, note: "", needsFolder: false, forSmallModels: false, forFinding: false, needsService: false }));

  it("are all until one is left out, and all again when it is back", () => {
    const some = toggleBuiltIn(all, null, "terminal_operations");
    expect(some).toEqual(names.filter((name) => name !== "terminal_operations"));
    expect(toggleBuiltIn(all, some, "terminal_operations")).toBeNull();
    expect(toggleBuiltIn(all, ["custom"], "think")).toEqual(["think", "custom"]);
  });

  it("stand beside the servers and the provider's own tools", () => {
    expect(chooseBuiltIn(null, ["think"])).toMatchObject({ servers: null, builtIn: ["think"] });
    expect(chooseBuiltIn(chooseBuiltIn(null, ["think"]), null)).toBeNull();
  });
});
