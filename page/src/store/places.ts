/** Where a draft is to begin a branch: after which run, and the branch whose path was shown then. */
export interface BranchPlace {
  runId: string;
  branch: number;
}

const place = (id: string) => `pilothouse.branch-from.${id}`;

/** Keep where the draft of a conversation begins a branch, so that a reload does not send it elsewhere; null forgets it. */
export function keepPlace(id: string, kept: BranchPlace | null, storage: Storage = localStorage): void {
  try {
    if (kept) storage.setItem(place(id), JSON.stringify(kept));
    else storage.removeItem(place(id));
  } catch {
    // Storage that is full or forbidden keeps no draft either.
  }
}

/** Return where the draft of a conversation begins a branch; null where it goes on at the end. */
export function keptPlace(id: string, storage: Storage = localStorage): BranchPlace | null {
  try {
    const kept = JSON.parse(storage.getItem(place(id)) ?? "null") as Partial<BranchPlace> | null;
    if (typeof kept?.runId !== "string" || typeof kept.branch !== "number") return null;
    return { runId: kept.runId, branch: kept.branch };
  } catch {
    return null;
  }
}
