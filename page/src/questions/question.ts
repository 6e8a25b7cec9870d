import { answerTo, type QuestionOf } from "../api/items";
import { inTime } from "../approvals/choices";
import { choicesOf, type Choice } from "../chat/data";

/** What the agent asks to be allowed. */
export interface Permission {
  operation: string;
  duration: string;
}

/** Return what agreeing to a question would allow, or null when it is only a question. */
export function permissionOf({ data: { authorizes: operation, duration } }: QuestionOf<"collaboration">): Permission | null {
  return operation ? { operation, duration: duration || "5m" } : null;
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
export function answered(item: QuestionOf<"collaboration">): string {
  if (item.status !== "completed") return `${item.text} This was not answered.`;
  const { choice, text: words } = answerTo(item);
  const permission = permissionOf(item);
  if (permission) {
    const given = choice === "approve" ? `You allowed ${permission.operation} for ${inTime(permission.duration)}.` : "You declined.";
    return [item.text, given, words && `You added: ${words}`].filter(Boolean).join(" ");
  }
  const label = choicesOf(item).find(({ id }) => id === choice)?.label;
  return `${item.text} You answered: ${label ?? words}`;
}

/** Go to the question of the agent's that is open. */
export function goToQuestion(): void {
  const card = document.querySelector<HTMLElement>("[data-question]");
  card?.scrollIntoView({ block: "nearest" });
  card?.focus({ preventScroll: true });
}
