import { describe, expect, it } from "vitest";
import type { Event, Item } from "../src/api/types";
import { rowsOf } from "../src/chat/rows";
import { activeRun, withEarlier } from "../src/store/conversation";
import { fold, foldAll } from "../src/store/fold";
import { aConversation, anItem, aRun, aState } from "./records";

const delta = (seq: number, offset: number, text: string): Event => ({
  type: "item.delta",
  seq,
  at: 2,
  itemId: "i_1",
  offset,
  text,
});
const completed = (seq: number): Event => ({
  type: "item.completed",
  seq,
  at: 3,
  itemId: "i_1",
  status: "completed",
  data: { usage: { output: 3 } },
});
const textOf = (state: ReturnType<typeof aState>) => state.items.get("i_1")?.text;

describe("text", () => {
  it("takes only the part of a delta beyond the text it has", () => {
    const state = foldAll(aState([anItem({ text: "Hello" })]), [delta(0, 3, "lo, wor"), delta(2, 5, ", world")]);
    expect(textOf(state)).toBe("Hello, world");
  });

  it("shows live text once although it comes again to be kept", () => {
    const state = foldAll(aState([anItem()]), [delta(0, 0, "one "), delta(0, 4, "two "), delta(2, 0, "one two ")]);
    expect(textOf(state)).toBe("one two ");
  });

  it("keeps live text that is ahead of what is kept", () => {
    const state = foldAll(aState([anItem()]), [delta(0, 0, "one two three"), delta(2, 0, "one ")]);
    expect(textOf(state)).toBe("one two three");
  });

  it("replaces live text that was never kept", () => {
    const state = foldAll(aState([anItem()]), [delta(0, 0, "lost words"), delta(2, 0, "kept"), completed(3)]);
    expect(textOf(state)).toBe("kept");
  });

  it("ends with exactly what was kept", () => {
    const state = foldAll(aState([anItem()]), [delta(2, 0, "kept"), delta(0, 4, " and only seen"), completed(3)]);
    expect(textOf(state)).toBe("kept");
    expect(state.items.get("i_1")?.status).toBe("completed");
    expect(state.items.get("i_1")?.data).toEqual({ usage: { output: 3 } });
  });

  it("takes live text for kept when only its end is told", () => {
    const state = foldAll(aState([anItem()]), [delta(0, 0, "one two"), delta(2, 4, ""), delta(3, 7, ""), completed(4)]);
    expect(state.gap).toBe(false);
    expect(textOf(state)).toBe("one two");
  });

  it("marks a gap when kept text begins beyond what is here", () => {
    expect(foldAll(aState([anItem({ text: "one" })]), [delta(2, 7, "")]).gap).toBe(true);
  });

  it("counts offsets as the server does, in UTF-16 units", () => {
    const state = foldAll(aState([anItem({ text: "🚢🚢" })]), [delta(0, 2, "🚢⚓"), delta(2, 4, "⚓🌊"), delta(0, 7, "!")]);
    expect(textOf(state)).toBe("🚢🚢⚓🌊!");
  });

  it("waits for the kept text when live text begins beyond a hole", () => {
    const state = foldAll(aState([anItem({ text: "a" })]), [delta(0, 5, "later"), delta(2, 1, "bcdelater")]);
    expect(textOf(state)).toBe("abcdelater");
  });
});

describe("order", () => {
  it("skips an event that it has seen", () => {
    const state = foldAll(aState([anItem()], 4), [delta(4, 0, "twice"), delta(3, 0, "twice")]);
    expect(textOf(state)).toBe("");
    expect(state.lastSeq).toBe(4);
  });

  it("marks a gap and takes nothing after it", () => {
    const state = foldAll(aState([anItem()], 1), [delta(3, 0, "too early"), delta(2, 0, "late")]);
    expect(state.gap).toBe(true);
    expect(textOf(state)).toBe("");
    expect(state.lastSeq).toBe(1);
  });

  it("places items by their position", () => {
    const first = anItem({ id: "i_2", position: 2 });
    const second = anItem({ id: "i_3", position: 3 });
    const state = foldAll(aState([anItem()], 1), [
      { type: "item.created", seq: 2, at: 1, item: first as never },
      { type: "item.created", seq: 3, at: 1, item: second as never },
    ]);
    expect(state.order).toEqual(["i_1", "i_2", "i_3"]);
  });

  it("puts earlier items before what is there, once", () => {
    const state = withEarlier(aState([anItem({ position: 9 })], 9), {
      items: [anItem({ id: "i_0", position: 1 }), anItem({ position: 9 })] as never[],
      branches: [],
      hasEarlier: false,
    });
    expect(state.order).toEqual(["i_0", "i_1"]);
  });
});

describe("state", () => {
  it("merges an update's data key by key", () => {
    const before = aState([anItem({ kind: "tool_call", data: { tool: "think", phase: "started" } })]);
    const event: Event = { type: "item.updated", seq: 2, at: 2, itemId: "i_1", status: null, data: { phase: "executing" } };
    const state = fold(before, event);
    expect(state.items.get("i_1")?.data).toEqual({ tool: "think", phase: "executing" });
    expect(state.items.get("i_1")?.status).toBe("streaming");
  });

  it("leaves out what a server of another version means otherwise, and goes on", () => {
    const strange = { content: "nonsense", changes: [null], usage: 3, todos: "nonsense", sources: [{ title: "A page" }], later: ["kept"] };
    const fitting = { sources: [{ title: "A page" }], later: ["kept"] };
    const created: Event = { type: "item.created", seq: 2, at: 1, item: anItem({ id: "i_2", data: strange }) };
    const updated: Event = { type: "item.updated", seq: 3, at: 2, itemId: "i_1", status: null, data: strange };
    const bare: Event = { type: "item.created", seq: 4, at: 2, item: { ...anItem({ id: "i_3" }), data: undefined } as unknown as Item };
    const state = foldAll(aState([anItem(), anItem({ id: "i_0", data: strange })]), [created, updated, bare]);
    expect(["i_0", "i_1", "i_2"].map((id) => state.items.get(id)?.data)).toEqual([fitting, fitting, fitting]);
    const unknown = anItem({ id: "i_9", kind: "hologram" as "notice", data: { light: true } });
    const shown = withEarlier(state, { items: [unknown], branches: [], hasEarlier: false });
    expect([shown.items.get("i_9"), shown.items.get("i_3")?.data]).toEqual([unknown, {}]);
    expect(rowsOf(shown.order, shown.items, shown.runs)).toHaveLength(5);
  });

  it("keeps an item that fits as it is", () => {
    const item = anItem({ data: { sources: [], usage: null } });
    expect(aState([item]).items.get("i_1")).toBe(item);
  });

  it("knows the run that is under way until it ends", () => {
    const running = fold(aState(), { type: "run.updated", seq: 2, at: 1, run: aRun() });
    expect(activeRun(running)?.id).toBe("r_1");
    const ended = fold(running, { type: "run.updated", seq: 3, at: 1, run: aRun({ status: "failed" }) });
    expect(activeRun(ended)).toBeNull();
  });

  it("takes a new title", () => {
    const conversation = aConversation({ title: "Another" });
    const state = fold(aState(), { type: "conversation.updated", seq: 2, at: 1, conversation });
    expect(state.conversation.title).toBe("Another");
  });

  it("ignores and counts an event of an unknown type", () => {
    const strange = { type: "page.execute", seq: 2, at: 1, code: "alert(1)" } as unknown as Event;
    const state = fold(aState([anItem()]), strange);
    expect(state.unknownEvents).toBe(1);
    expect(state.lastSeq).toBe(2);
    expect(state.items.size).toBe(1);
  });

  it("leaves the state it was given untouched", () => {
    const before = aState([anItem()]);
    fold(before, delta(2, 0, "new"));
    expect(textOf(before)).toBe("");
    expect(before.lastSeq).toBe(1);
  });
});
