/** Where a draft is to begin a branch. */
export interface BranchPlace {
  /** The run after which it goes on; `instead`: in the place of whose message it stands. */
  runId: string;
  instead: boolean;
  /** The message of that run, how it begins, and where it stands: in which branch, at which position. */
  itemId: string;
  words: string;
  at: number;
  position: number;
  /** The branch whose path was shown then. */
  branch: number;
}

const place = (id: string) => `pilothouse.branch-from.${id}`;

const isPlace = (kept: Partial<BranchPlace> | null): kept is BranchPlace =>
  [kept?.runId, kept?.itemId, kept?.words].every((each) => typeof each === "string") &&
  [kept?.at, kept?.position, kept?.branch].every((each) => typeof each === "number") &&
  typeof kept?.instead === "boolean";

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
    return isPlace(kept) ? kept : null;
  } catch {
    return null;
  }
}
