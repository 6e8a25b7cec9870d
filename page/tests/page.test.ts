import { describe, expect, it } from "vitest";
import { callTime, choicesOf, usageOf } from "../src/chat/data";
import { usageFacts } from "../src/chat/Response";
import { holds, placeOf, rowsOf } from "../src/chat/rows";
import { phaseText } from "../src/calls/phases";
import { seconds } from "../src/chat/words";
import { loadDraft, newKey, saveDraft } from "../src/composer/drafts";
import { byDay, dayName } from "../src/conversations/days";
import type { SearchHit } from "../src/api/types";
import { grouped, marked } from "../src/conversations/SearchHits";
import { matches } from "../src/shell/commands";
import { parseRoute } from "../src/shell/router";
import { anApproval, aConversation, anItem, aRun } from "./records";

function memory(): Storage {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  } as Storage;
}

describe("drafts", () => {
  it("survive with the key of the attempt, so that sending again is harmless", () => {
    const storage = memory();
    const paper = { id: "d_1", name: "a.pdf", kind: "pdf", bytes: 9, pages: 1, characters: 3, preview: "abc", note: "" } as const;
    const draft = { text: "not sent yet", key: "k", documents: [paper] };
    saveDraft("c_1", draft, storage);
    expect(loadDraft("c_1", storage)).toEqual(draft);
    saveDraft("c_3", { ...draft, text: "" }, storage);
    expect(loadDraft("c_3", storage).documents).toEqual([paper]);
    expect(loadDraft("c_2", storage).text).toBe("");
  });

  it("are gone when there is nothing in the box", () => {
    const storage = memory();
    saveDraft("c_1", { text: "x", key: null, documents: [] }, storage);
    saveDraft("c_1", { text: "", key: null, documents: [] }, storage);
    expect(storage.getItem("pilothouse.draft.c_1")).toBeNull();
  });

  it("that cannot be read count as empty", () => {
    const storage = memory();
    storage.setItem("pilothouse.draft.c_1", "{broken");
    expect(loadDraft("c_1", storage)).toEqual({ text: "", key: null, documents: [] });
    expect(newKey()).not.toBe(newKey());
  });
});

describe("the list", () => {
  const now = new Date(2026, 10, 15, 12).getTime();
  it("names days as a person does", () => {
    expect(dayName(now - 3_600_000, now, "en")).toBe("Today");
    expect(dayName(now - 24 * 3_600_000, now, "en")).toBe("Yesterday");
    expect(dayName(new Date(2026, 10, 11).getTime(), now, "en")).toBe("Wednesday");
    expect(dayName(new Date(2026, 8, 1).getTime(), now, "en")).toBe("September");
    expect(dayName(new Date(2025, 8, 1).getTime(), now, "en")).toBe("September 2025");
  });

  it("groups conversations by day", () => {
    const days = byDay(
      [aConversation({ updatedAt: now / 1000 }), aConversation({ id: "c_2", updatedAt: now / 1000 - 100_000 })],
      now,
      "en",
    );
    expect(days.map((day) => day.conversations.length)).toEqual([1, 1]);
  });

  it("marks hits by characters, also behind an emoji", () => {
    const parts = marked({ snippet: "🚢🚢 tide", ranges: [{ start: 3, end: 7 }] });
    expect(parts[0]).toBe("🚢🚢 ");
    expect((parts[1] as { props: { children: string } }).props.children).toBe("tide");
  });
});

describe("keys", () => {
  const press = (fields: object) => ({
    key: "",
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    shiftKey: false,
    ...fields,
  });
  it("are Ctrl here and Cmd on a Mac", () => {
    expect(matches("mod+k", press({ key: "k", ctrlKey: true }), false)).toBe(true);
    expect(matches("mod+k", press({ key: "k", metaKey: true }), true)).toBe(true);
    expect(matches("mod+k", press({ key: "k", ctrlKey: true }), true)).toBe(false);
    expect(matches("mod+k", press({ key: "k" }), false)).toBe(false);
  });
  it("know a letter by its place when Alt changes the sign", () => {
    expect(matches("alt+n", press({ key: "˜", code: "KeyN", altKey: true }), true)).toBe(true);
    expect(matches("?", press({ key: "?", shiftKey: true }), false)).toBe(true);
  });
});

describe("addresses", () => {
  it("name a conversation, an item in it, or a tab", () => {
    expect(parseRoute("/c/c_1", "?item=i_2")).toEqual({ page: "chat", conversationId: "c_1", itemId: "i_2", branch: null, replay: null });
    expect(parseRoute("/c/c_1", "?item=i_2&branch=3")).toMatchObject({ itemId: "i_2", branch: 3 });
    expect(parseRoute("/c/c_1", "?branch=-1")).toMatchObject({ branch: null });
    expect(parseRoute("/settings/models")).toMatchObject({ page: "settings", tab: "models" });
    expect(parseRoute("/settings/nonsense")).toMatchObject({ tab: "general" });
    expect(parseRoute("/elsewhere")).toMatchObject({ conversationId: null });
  });
});

describe("a tool call", () => {
  const call = (fields: object) => anItem({ kind: "tool_call", ...fields });
  it.each([
    [call({ data: { phase: "started" } }), "Receiving args..."],
    [call({ status: "waiting", data: { phase: "args_received" } }), "Args received"],
    [call({ data: { phase: "executing" } }), "Executing..."],
    [call({ status: "completed" }), "Completed"],
    [call({ status: "failed", data: { error: { message: "no such file" } } }), "Failed: no such file"],
    [
      call({ status: "failed", data: { decision: { verdict: "deny", authority: "person" }, error: { message: "No." } } }),
      "Not allowed",
    ],
    [
      call({ status: "failed", data: { decision: { verdict: "deny", authority: "rule" }, error: { message: "No." } } }),
      "Not allowed: No.",
    ],
    [call({ status: "cancelled" }), "Cancelled"],
    [call({ status: "timed_out" }), "timed out"],
  ])("has words for each phase", (item, words) => {
    expect(phaseText(item)).toBe(words);
  });

  it("that the person did not allow has what they said to do instead", () => {
    const denied = call({ status: "failed", data: { decision: { verdict: "deny", authority: "person" } } });
    expect(phaseText(denied, "Stay in the ship.")).toBe("Not allowed: Stay in the ship.");
  });

  it("knows how long it took when it is over, however it ended", () => {
    const data = { phases: { started: 10 } };
    expect(callTime(call({ data })).took).toBeNull();
    expect(callTime(call({ data, status: "cancelled", updatedAt: 12.5 })).took).toBe(2_500);
    expect(callTime(call({ data: { ...data, elapsedMs: 40 }, status: "completed" })).took).toBe(40);
  });
});

describe("an answer", () => {
  it("tells what it cost and how fast it came", () => {
    const data = { usage: { input: 12_840, output: 912, cacheRead: 11_200 }, firstTokenMs: 640, tokensPerSecond: 67.26 };
    expect(usageFacts(usageOf([anItem({ data })]))).toEqual([
      "13k tokens in",
      "11k cached",
      "912 out",
      "first token after 0.6 s",
      "67.3 tokens/s",
    ]);
  });

  it("tells about what it cost where a price is known", () => {
    const costs = [0.00001, 0.0042, 0.05, 0.123, 2.5].map((cost) => usageFacts(usageOf([anItem({ data: { cost } })]))[0]);
    expect(costs).toEqual(["less than $0.0001", "about $0.0042", "about $0.05", "about $0.12", "about $2.50"]);
  });

  it("tells what all of it took when it was cut and went on", () => {
    const first = anItem({ data: { usage: { input: 4_200, output: 64 }, cost: 0.02, firstTokenMs: 640 } });
    const rest = anItem({ data: { usage: { input: 300, output: 36 }, cost: 0.01, firstTokenMs: 10, tokensPerSecond: 50 } });
    expect(usageFacts(usageOf([first, rest]))).toEqual([
      "4.5k tokens in",
      "100 out",
      "about $0.03",
      "first token after 0.6 s",
      "50.0 tokens/s",
    ]);
  });

  it("says nothing about what is not known", () => {
    expect(usageFacts(usageOf([anItem({ data: { usage: null } }), anItem()]))).toEqual([]);
    expect(choicesOf(anApproval({ choices: [{ label: "None" }, { id: "a" }] }))).toEqual([{ id: "a", label: "a", note: "", durations: [] }]);
    expect(choicesOf(anApproval())).toEqual([]);
    expect(seconds(185_000)).toBe("3 min 5 s");
  });
});

describe("rows", () => {
  it("tell how a run ended below its last item, also when it has none but the message", () => {
    const items = [
      anItem({ id: "i_0", kind: "user_message", runId: null, position: 1 }),
      anItem({ id: "i_1", position: 2 }),
      anItem({ id: "i_2", kind: "user_message", runId: null, position: 3 }),
    ];
    const runs = [
      aRun({ id: "r_1", status: "failed", messageItemId: "i_0", createdAt: 1 }),
      aRun({ id: "r_2", status: "interrupted", messageItemId: "i_2", createdAt: 2 }),
    ];
    const rows = rowsOf(
      items.map((item) => item.id),
      new Map(items.map((item) => [item.id, item])),
      new Map(runs.map((run) => [run.id, run])),
    );
    expect(rows.map((row) => row.key)).toEqual(["i_0", "i_1", "end-r_1", "i_2", "end-r_2"]);
    expect(rows.filter((row) => row.kind === "end").map((row) => row.isLatest)).toEqual([false, true]);
    const waiting = aRun({ id: "r_3", status: "queued", messageItemId: "i_3", createdAt: 3 });
    const behind = rowsOf(
      items.map((item) => item.id),
      new Map(items.map((item) => [item.id, item])),
      new Map([...runs, waiting].map((run) => [run.id, run])),
    );
    expect(behind.filter((row) => row.kind === "end").map((row) => row.isLatest)).toEqual([false, true]);
  });

  it("hold an answer together with what goes on where it was cut, and not with an attempt that broke off", () => {
    const items = [
      anItem({ id: "a", text: "Half of it.", status: "completed", data: { stop: "length", goOn: true } }),
      anItem({ id: "n", kind: "notice", status: "completed" }),
      anItem({ id: "x", text: "Half of it.", status: "failed", data: { continues: "a", cutOff: true } }),
      anItem({ id: "b", text: "Half of it.", status: "completed", data: { continues: "a" } }),
      anItem({ id: "c", data: { continues: "b" } }),
      anItem({ id: "d", data: { continues: "gone" } }),
    ];
    const rows = rowsOf(
      items.map((item) => item.id),
      new Map(items.map((item) => [item.id, item])),
      new Map(),
    );
    expect(rows).toEqual([
      { kind: "item", key: "a", itemId: "a", more: ["b", "c"] },
      { kind: "item", key: "n", itemId: "n" },
      { kind: "item", key: "x", itemId: "x" },
      { kind: "item", key: "d", itemId: "d", foot: { runId: "r_1", messageId: null } },
    ]);
    expect(placeOf(rows, "c")).toBe("item-a");
    expect(rows.map((row) => holds(row, "b"))).toEqual([true, false, false, false]);
  });
});

describe("what a search found", () => {
  const hit = (conversationId: string, itemId: string | null, foundHere: number): SearchHit => ({
    conversationId,
    itemId,
    title: `Title ${conversationId}`,
    kind: itemId ? "response" : "title",
    snippet: "tide",
    ranges: [{ start: 0, end: 4 }],
    at: 0,
    foundHere,
    similar: false,
    branch: 0,
    offPath: false,
    position: 0,
    hidden: false,
  });

  it("names a conversation once, its title apart from its hits, and says how many are left", () => {
    const groups = grouped([hit("a", "1", 5), hit("b", null, 1), hit("a", null, 5), hit("a", "2", 5)]);
    expect(groups.map(({ title, hits, left }) => [title, hits.map(({ itemId }) => itemId), left])).toEqual([
      ["Title a", ["1", "2"], 2],
      ["Title b", [], 0],
    ]);
    expect(groups.map(({ titleHit }) => titleHit !== null)).toEqual([true, true]);
  });
});
