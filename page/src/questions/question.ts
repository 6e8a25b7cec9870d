import type { Item } from "../api/types";
import { inTime } from "../approvals/choices";
import { choicesOf, record, text, type Choice } from "../chat/data";

/** What the agent asks to be allowed. */
export interface Leave {
  operation: string;
  duration: string;
}

/** Return what agreeing to a question would allow, or null when it is only a question. */
export function leaveOf({ data }: Item): Leave | null {
  const operation = text(data.authorizes);
  return operation ? { operation, duration: text(data.duration) || "5m" } : null;
}

interface KeyPress {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  target: EventTarget | null;
}

/** Return the answer whose number was pressed; a number in a field is text. */
export function chosenBy(press: KeyPress, choices: readonly Choice[]): Choice | null {
  if (press.ctrlKey || press.metaKey || press.altKey || !/^[1-9]$/.test(press.key)) return null;
  if ((press.target as Element | null)?.matches?.("input, textarea")) return null;
  return choices[Number(press.key) - 1] ?? null;
}

/** Return how a question of the agent's ended, in words. */
export function answered(item: Item): string {
  if (item.status !== "completed") return `${item.text} This was not answered.`;
  const answer = record(item.data.answer);
  const leave = leaveOf(item);
  const words = text(answer.text);
  if (leave) {
    const given = answer.choice === "approve" ? `You allowed ${leave.operation} for ${inTime(leave.duration)}.` : "You declined.";
    return [item.text, given, words && `You added: ${words}`].filter(Boolean).join(" ");
  }
  const label = choicesOf(item).find((choice) => choice.id === answer.choice)?.label;
  return `${item.text} You answered: ${label ?? words}`;
}

/** Go to the question of the agent's that is open. */
export function goToQuestion(): void {
  const card = document.querySelector<HTMLElement>("[data-question]");
  card?.scrollIntoView({ block: "nearest" });
  card?.focus({ preventScroll: true });
}
