import type { Item } from "../api/types";
import { record, text } from "../chat/data";

/** What a call did to one file. */
export interface Change {
  id: string;
  path: string;
  /** Where it was before, when it was moved. */
  from: string;
  kind: "created" | "modified" | "deleted" | "renamed";
  diff: string;
  added: number;
  removed: number;
  isUndone: boolean;
}

const kinds = ["created", "modified", "deleted", "renamed"] as const;
const number = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : 0);
const texts = (value: unknown) => (Array.isArray(value) ? value.map(text).filter(Boolean) : []);

/** Return what a call did to files, each with whether it was put back. */
export function changesOf({ data }: Item): Change[] {
  const changes = Array.isArray(data.changes) ? data.changes.map(record) : [];
  const undone = new Set(texts(data.undone));
  return changes
    .filter((change) => text(change.path))
    .map((change) => ({
      id: text(change.changeId),
      path: text(change.path),
      from: text(change.from),
      kind: kinds.find((kind) => kind === change.kind) ?? "modified",
      diff: text(change.diff),
      added: number(change.added),
      removed: number(change.removed),
      isUndone: data.undone === true || undone.has(text(change.changeId)) || undone.has(text(change.path)),
    }));
}

export interface ChangedFile {
  path: string;
  kind: Change["kind"];
  added: number;
  removed: number;
  changes: readonly Change[];
  isUndone: boolean;
}

/** Return the files that some calls changed, each once, in the order in which they were first touched. */
export function filesOf(items: readonly Item[]): ChangedFile[] {
  const files = new Map<string, Change[]>();
  for (const item of items) {
    for (const change of changesOf(item)) {
      const earlier = files.get(change.path) ?? (change.from ? files.get(change.from) : undefined) ?? [];
      if (change.from) files.delete(change.from);
      files.set(change.path, [...earlier, change]);
    }
  }
  return [...files].map(([path, changes]) => {
    const standing = changes.filter((change) => !change.isUndone);
    const counted = standing.length ? standing : changes;
    const sum = (count: (change: Change) => number) => counted.reduce((total, change) => total + count(change), 0);
    const last = changes[changes.length - 1];
    const kind = changes[0]?.kind === "created" && last?.kind === "modified" ? "created" : (last?.kind ?? "modified");
    return { path, kind, added: sum(({ added }) => added), removed: sum(({ removed }) => removed), changes, isUndone: !standing.length };
  });
}
