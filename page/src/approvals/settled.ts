import type { Item } from "../api/types";
import { record, text } from "../chat/data";
import { inWords, patternOf } from "../policy/pattern";
import { askedOf, titleOf } from "./asked";
import { clock, inTime, secondsOf } from "./choices";

function ending(sentence: string, reason: string): string {
  return reason ? `${sentence}: ${reason}` : `${sentence}.`;
}

/** Return the pattern that an answer allows, in words. */
const allowed = (answer: Record<string, unknown>, otherwise: string) => {
  const pattern = patternOf(record(answer.content).pattern);
  return pattern ? inWords(pattern) : otherwise;
};

/** Return how a question about a call ended, for one call or for several that ended alike. */
export function decided(item: Item, count = 1): string {
  const answer = record(item.data.answer);
  const operation = askedOf(item.data).operation;
  const what = count > 1 ? `${count} calls of ${operation}` : operation;
  if (item.status !== "completed") return `${count > 1 ? `${what}:` : titleOf(item)} This was not answered.`;
  const by = text(answer.by);
  const who = !by || by === "local" || by === item.data.owner ? "You" : by;
  switch (text(answer.choice)) {
    case "allow":
      return `${who} allowed ${what} once.`;
    case "conversation": {
      const duration = text(record(answer.content).duration);
      const seconds = secondsOf(duration);
      const until = seconds === null ? "" : ` for ${inTime(duration)}, until ${clock(item.updatedAt + seconds)}`;
      return `${who} allowed ${what} in this conversation${until}.`;
    }
    case "always":
      return `${who} always allowed ${allowed(answer, what)}.`;
    case "deny":
      return ending(`${who} did not allow ${what}`, text(answer.text));
    default:
      return `${titleOf(item)} This was not answered.`;
  }
}

/** Return one line for each way in which questions ended. */
export function endings(items: readonly Item[]): string[] {
  const alike = new Map<string, Item[]>();
  for (const item of items) {
    const { choice, text: reason, content, by } = record(item.data.answer);
    const key = JSON.stringify([item.status, choice, reason, content, by, askedOf(item.data).operation]);
    alike.set(key, [...(alike.get(key) ?? []), item]);
  }
  return [...alike.values()].map((group) => decided(group[0] as Item, group.length));
}
