import type { Shown } from "../documents/documents";

/** What stands in the box of a conversation; `key` marks an attempt to send exactly this. */
export interface Draft {
  text: string;
  key: string | null;
  /** The documents that go with it: the server has them already. */
  documents: readonly Shown[];
}

const place = (id: string) => `pilothouse.draft.${id}`;
/** An empty box. */
export const noDraft: Draft = { text: "", key: null, documents: [] };

const isShown = (kept: unknown): kept is Shown => typeof (kept as Shown | null)?.id === "string" && typeof (kept as Shown).name === "string";

/** Return the kept draft of a conversation. */
export function loadDraft(id: string, storage: Storage = localStorage): Draft {
  try {
    const kept = JSON.parse(storage.getItem(place(id)) ?? "null") as Partial<Draft> | null;
    if (typeof kept?.text !== "string") return noDraft;
    const documents = Array.isArray(kept.documents) ? kept.documents.filter(isShown) : [];
    return { text: kept.text, key: typeof kept.key === "string" ? kept.key : null, documents };
  } catch {
    return noDraft;
  }
}

/** Keep a draft, so that a reload or a crash does not take it. */
export function saveDraft(id: string, draft: Draft, storage: Storage = localStorage): void {
  try {
    if (draft.text || draft.documents.length) storage.setItem(place(id), JSON.stringify(draft));
    else storage.removeItem(place(id));
  } catch {
    // Storage that is full or forbidden only costs the draft its safety; typing goes on.
  }
}

/** Return a key that makes sending the same thing twice harmless. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
