import type { Item, ResponseItem, Run } from "../api/types";
import { usageOf } from "../chat/data";
import { cost, count } from "../chat/words";
import type { ConversationState } from "../store/conversation";

/** Return the items of a run that are no message, in order. */
export function itemsOf(open: Pick<ConversationState, "items" | "order">, runId: string): Item[] {
  return open.order
    .map((id) => open.items.get(id))
    .filter((item) => item !== undefined)
    .filter((item) => item.runId === runId && item.kind !== "user_message");
}

/** Return what a run took so far: tokens and, where a price is known, what it cost. */
export function spentOf(open: ConversationState | null, runId: string): string[] {
  if (!open) return [];
  const answers = itemsOf(open, runId).filter((item): item is ResponseItem => item.kind === "response");
  const { input, output, isEstimated, cost: dollars } = usageOf(answers);
  if (input === null && output === null) return [];
  const tokens = `${isEstimated ? "about " : ""}${count(input ?? 0)} tokens in, ${count(output ?? 0)} out`;
  return dollars === null ? [tokens] : [tokens, cost(dollars)];
}

/** Return the model that answers in a run, or answered last. */
export function modelOf(open: ConversationState | null, run: Run | undefined): string {
  if (run?.options.modelId) return run.options.modelId;
  const answers = open && run ? itemsOf(open, run.id).filter((item) => item.kind === "response") : [];
  return answers.findLast(({ data }) => data.model)?.data.model ?? "";
}
