import { useEffect } from "react";
import { getState, setState } from "../store/store";
import { keptEdit } from "./editDrafts";

/** When a conversation is opened, edit on what was being edited in it, unless its draft begins a branch. */
export function useEditKept(conversationId: string): void {
  useEffect(() => {
    const kept = keptEdit(conversationId);
    const { open, branching, editing } = getState();
    if (kept && open?.items.has(kept.itemId) && !branching && !editing) setState({ editing: kept.itemId });
  }, [conversationId]);
}
