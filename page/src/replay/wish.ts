import type { ReplayWish } from "../api/types";

/** What a replay is to be made with, as it stands in the form. */
export interface Draft {
  modelId: string;
  temperature: number | null;
  systemPrompt: string;
}

/** Return what is wished otherwise than it was; what was left as it is, is left to the server. */
export function wishOf(draft: Draft, usual: Draft): ReplayWish {
  return {
    modelId: draft.modelId,
    ...(draft.temperature !== usual.temperature && { temperature: draft.temperature }),
    ...(draft.systemPrompt !== usual.systemPrompt && { systemPrompt: draft.systemPrompt.trim() }),
  };
}
