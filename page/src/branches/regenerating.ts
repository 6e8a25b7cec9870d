import type { Retry } from "../api/types";
import { newKey } from "../composer/drafts";
import { regenerate } from "../store/branching";
import { askBefore } from "./asking";

/** Have a message answered once more, after asking what there is to ask. */
export async function regenerateAsked(runId: string, wish: Pick<Retry, "modelId" | "temperature">): Promise<void> {
  const whenBusy = await askBefore(runId, true);
  if (whenBusy) await regenerate(runId, { ...wish, whenBusy, idempotencyKey: newKey() });
}
