import { useEffect } from "react";
import { getState, setState } from "../store/store";
import { keptEdit } from "./editDrafts";

/** When a conversation is opened, edit on what was being edited in it. */
export function useEditKept(conversationId: string): void {
  useEffect(() => {
    const kept = keptEdit(conversationId);
    const { open, editing } = getState();
    if (kept && open?.items.has(kept.itemId) && !editing) setState({ editing: kept.itemId });
  }, [conversationId]);
}
