import { describe, expect, test } from "vitest";
import type { Conversation } from "../src/api/types";
import { commandEntries, conversationEntries, find, type Entry } from "../src/palette/entries";
import { fuzzy } from "../src/palette/fuzzy";

const entry = (title: string, group = "Chat"): Entry => ({ id: title, title, group, run: () => undefined });
const titles = (entries: Entry[], query: string) => find(entries, query).flatMap((group) => group.hits.map((hit) => hit.entry.title));

describe("fuzzy matching", () => {
  test("takes letters in order with anything between them", () => {
    expect(fuzzy("nwc", "New conversation")).not.toBeNull();
    expect(fuzzy("cwn", "New conversation")).toBeNull();
  });

  test("tells which letters were meant, rather at the starts of words", () => {
    expect(fuzzy("nc", "New conversation")?.at).toEqual([0, 4]);
    expect(fuzzy("set mod", "Settings: Models")?.at).toEqual([0, 1, 2, 10, 11, 12]);
  });

  test("takes a run of letters rather than scattered ones", () => {
    const whole = fuzzy("stop", "Please stop it")?.score ?? 0;
    const scattered = fuzzy("stop", "Search the other page")?.score ?? 0;
    expect(whole).toBeGreaterThan(scattered);
  });

  test("does not trip over letters that grow in lower case", () => {
    expect(fuzzy("istanbul", "İstanbul")).toBeNull();
    expect(fuzzy("i̇stanbul", "İstanbul")).toEqual({ score: 1, at: [] });
  });

  test("of two that fit alike, prefers the shorter", () => {
    expect(titles([entry("Search everything there is"), entry("Search")], "search")[0]).toBe("Search");
  });
});

describe("what the palette lists", () => {
  test("groups everything while nothing is typed, with few conversations", () => {
    const many = Array.from({ length: 30 }, (_, number) => entry(`Talk ${number}`, "Conversations"));
    const groups = find([entry("New"), ...many], " ");
    expect(groups.map((group) => [group.name, group.hits.length])).toEqual([
      ["Chat", 1],
      ["Conversations", 8],
    ]);
  });

  test("finds any conversation by its title once something is typed", () => {
    const many = Array.from({ length: 30 }, (_, number) => entry(`Talk ${number}`, "Conversations"));
    expect(titles(many, "talk 29")).toEqual(["Talk 29"]);
  });

  test("is empty when nothing fits", () => expect(find([entry("New")], "xyz")).toEqual([]));

  test("leaves out itself and what cannot be done now", () => {
    const run = () => undefined;
    const commands = [
      { id: "palette", title: "All commands", run },
      { id: "stop", title: "Stop", enabled: () => false, run },
      { id: "new", title: "New", enabled: () => true, run },
    ];
    expect(commandEntries(commands).map(({ id }) => id)).toEqual(["new"]);
  });

  test("a conversation without a title has a name and leads to itself", () => {
    const gone: string[] = [];
    const [only] = conversationEntries([{ id: "c1", title: " " } as Conversation], (id) => gone.push(id));
    only?.run?.();
    expect([only?.title, gone]).toEqual(["New conversation", ["c1"]]);
  });
});
