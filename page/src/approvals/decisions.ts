import { asks, isOpen, type QuestionOf } from "../api/items";
import type { QuestionItem } from "../api/types";
import { activeRun, type ConversationState } from "../store/conversation";
import { askedOf } from "./asked";

/** One decision of the person: a question, or several about calls of the same shape. */
export interface Decision {
  key: string;
  items: readonly [QuestionItem, ...QuestionItem[]];
}

/** Tell whether a decision is about calls. */
export const isAboutCalls = (decision: Decision): decision is Decision & { items: readonly [QuestionOf<"approval">, ...QuestionOf<"approval">[]] } =>
  asks(decision.items[0], "approval");

/** Return the questions that the run under way has asked and that wait, in their order. */
export function openQuestions(open: ConversationState | null): QuestionItem[] {
  const run = activeRun(open);
  const found: QuestionItem[] = [];
  if (!open || !run) return found;
  for (let at = open.order.length - 1; at >= 0; at -= 1) {
    const item = open.items.get(open.order[at] ?? "");
    if (item?.kind === "user_message") break;
    if (item?.kind === "question" && item.runId === run.id && isOpen(item)) found.unshift(item);
  }
  return found;
}

const groupOf = (item: QuestionItem) => (asks(item, "approval") ? askedOf(item.data).group : "");

/** Put questions of the same shape together, save those of groups that are decided one by one. */
export function decisionsOf(questions: readonly QuestionItem[], apart: ReadonlySet<string> = new Set()): Decision[] {
  const found = new Map<string, Decision>();
  for (const item of questions) {
    const group = groupOf(item);
    const place = group && !apart.has(group) ? `${item.conversationId} ${group}` : item.id;
    const before = found.get(place);
    found.set(place, before ? { ...before, items: [...before.items, item] } : { key: item.id, items: [item] });
  }
  return [...found.values()];
}

/** Return the questions that may be allowed together: those that share their shape with others, so that none stands out. */
export const allowable = (questions: readonly QuestionItem[]) => questions.filter((item) => groupOf(item) !== "");

/** Return the shape of a decision; empty when it stands alone. */
export const shapeOf = ({ items: [first] }: Decision) => groupOf(first);
