import type { Retry } from "../api/types";
import { regenerate } from "../store/branching";
import { askBefore } from "./asking";

/** The runs for which another answer is asked: one at a time, however often it is pressed. */
const underWay = new Set<string>();

export type Wish = Pick<Retry, "modelId" | "temperature"> & { key: string };

/** Have a message answered once more, after asking what there is to ask; the same key makes one answer. */
export async function regenerateAsked(runId: string, { key, ...wish }: Wish): Promise<void> {
  if (underWay.has(runId)) return;
  underWay.add(runId);
  try {
    const whenBusy = await askBefore(runId, true);
    if (whenBusy) await regenerate(runId, { ...wish, whenBusy, idempotencyKey: key });
  } finally {
    underWay.delete(runId);
  }
}
