import type { Conversation, ModelView } from "../api/types";
import type { Command } from "../shell/commands";
import { fuzzy } from "./fuzzy";

/** Something the palette offers; one with `ask` wants a text first. */
export interface Entry {
  id: string;
  title: string;
  group: string;
  keys?: readonly string[] | undefined;
  ask?: { label: string; initial: string; done: (text: string) => void };
  run?: () => void;
}

/** An entry that fits what was typed, and where. */
export interface Hit {
  entry: Entry;
  at: readonly number[];
}

export interface HitGroup {
  name: string;
  hits: readonly Hit[];
}

/** How many conversations are offered before anything is typed, and how many hits after. */
const RECENT = 8;
const MOST = 40;

/** Return the registry's commands as entries, without the palette itself. */
export function commandEntries(commands: readonly Command[]): Entry[] {
  return commands
    .filter((command) => command.id !== "palette" && command.enabled?.() !== false)
    .map(({ id, title, group, keys, run }) => ({ id, title, group: group ?? "Commands", keys, run }));
}

/** Return one entry for each conversation. */
export function conversationEntries(conversations: readonly Conversation[], go: (id: string) => void): Entry[] {
  return conversations.map((conversation) => ({
    id: `conversation-${conversation.id}`,
    title: conversation.title.trim() || "New conversation",
    group: "Conversations",
    run: () => go(conversation.id),
  }));
}

/** Return one entry for each model that could answer instead of the current one. */
export function modelEntries(models: readonly ModelView[], current: string | null, use: (id: string) => void): Entry[] {
  return models
    .filter((model) => model.id !== current)
    .map(({ id, name }) => ({ id: `model-${id}`, title: `Switch to ${name}`, group: "Models", run: () => use(id) }));
}

function untyped(entries: readonly Entry[]): HitGroup[] {
  const groups = new Map<string, Hit[]>();
  for (const entry of entries) {
    const hits = groups.get(entry.group) ?? [];
    if (entry.group === "Conversations" && hits.length >= RECENT) continue;
    groups.set(entry.group, [...hits, { entry, at: [] }]);
  }
  return [...groups].map(([name, hits]) => ({ name, hits }));
}

/** Return what fits, best first; everything by group while nothing is typed. */
export function find(entries: readonly Entry[], query: string): HitGroup[] {
  if (!query.trim()) return untyped(entries);
  const ranked = entries.flatMap((entry, order) => {
    const match = fuzzy(query, entry.title);
    return match ? [{ entry, order, ...match }] : [];
  });
  ranked.sort((a, b) => b.score - a.score || a.order - b.order);
  return ranked.length ? [{ name: "", hits: ranked.slice(0, MOST).map(({ entry, at }) => ({ entry, at })) }] : [];
}
