/** A message that is being edited, what it says by now, and what of its attachments it leaves out. */
export interface EditDraft {
  itemId: string;
  text: string;
  dropped: readonly string[];
}

const place = (conversationId: string) => `pilothouse.edit.${conversationId}`;

/** Keep the edit of a conversation, so that a reload does not take it; null forgets it. */
export function keepEdit(conversationId: string, draft: EditDraft | null, storage: Storage = localStorage): void {
  try {
    if (draft) storage.setItem(place(conversationId), JSON.stringify(draft));
    else storage.removeItem(place(conversationId));
  } catch {
    // Storage that is full or forbidden only costs the edit its safety; typing goes on.
  }
}

/** Return the edit of a conversation that was not sent; null where there is none. */
export function keptEdit(conversationId: string, storage: Storage = localStorage): EditDraft | null {
  try {
    const kept = JSON.parse(storage.getItem(place(conversationId)) ?? "null") as Partial<EditDraft> | null;
    if (typeof kept?.itemId !== "string" || typeof kept.text !== "string") return null;
    const dropped = Array.isArray(kept.dropped) ? kept.dropped.filter((key) => typeof key === "string") : [];
    return { itemId: kept.itemId, text: kept.text, dropped };
  } catch {
    return null;
  }
}
