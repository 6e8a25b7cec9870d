import type { QuestionOf } from "../api/items";
import type { ConversationSettings } from "../api/types";
import { noSettings, useApp } from "../store/store";

/** What a call is given: null where that is not known; what holds a secret is shown without it, and cannot be changed. */
export interface GivenToCall {
  arguments: Record<string, unknown> | null;
  isMasked: boolean;
}

/** Return what the call of a question is given: from its conversation, or from the list of what waits. */
export function useGiven({ id, data: { callItemId = "" } }: QuestionOf<"approval">): GivenToCall {
  const call = useApp(({ open }) => open?.items.get(callItemId));
  const waiting = useApp((state) => state.waiting.find(({ itemId }) => itemId === id));
  if (call?.kind === "tool_call") return { arguments: call.data.arguments ?? null, isMasked: call.data.masked ?? false };
  return { arguments: waiting?.arguments ?? null, isMasked: waiting?.masked ?? false };
}

/** Return what a conversation is set to, open or not. */
export function useSettingsOf(conversationId: string): ConversationSettings {
  return useApp(({ open, conversations }) => {
    if (open?.conversation.id === conversationId) return open.conversation.settings;
    return conversations.find(({ id }) => id === conversationId)?.settings ?? noSettings;
  });
}
