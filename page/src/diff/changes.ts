import type { CallItem, Item, NoticeItem, ShownChange } from "../api/types";

/** What a call did to one file. */
export type Change = Required<Omit<ShownChange, "changeId" | "kind">> & {
  id: string;
  kind: "created" | "modified" | "deleted" | "renamed";
  isUndone: boolean;
};

const kinds = ["created", "modified", "deleted", "renamed"] as const;

/** Return what a call did to files, or what was set aside after one, each with whether it was put back. */
export function changesOf({ data: { changes = [], undone = [] } }: CallItem | NoticeItem): Change[] {
  return changes.flatMap(({ path, kind, changeId: id = "", from = "", diff = "", added = 0, removed = 0 }) => {
    if (!path) return [];
    const isUndone = undone.includes(id) || undone.includes(path);
    return [{ id, path, from, kind: kinds.find((each) => each === kind) ?? "modified", diff, added, removed, isUndone }];
  });
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
    for (const change of item.kind === "tool_call" ? changesOf(item) : []) {
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
