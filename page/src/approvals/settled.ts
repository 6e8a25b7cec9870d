import { answerTo, type QuestionOf } from "../api/items";
import { inWords, patternOf, type Pattern } from "../policy/pattern";
import { askedOf, titleOf } from "./asked";
import { clock } from "../shell/time";
import { inTime, secondsOf } from "./choices";

function ending(sentence: string, reason: string): string {
  return reason ? `${sentence}: ${reason}` : `${sentence}.`;
}

/** Return what an answer permits and for how long, as `choices` sends it. */
export function given(content: Record<string, unknown> | null | undefined): { pattern: Pattern | null; duration: string } {
  const { pattern, duration } = (content ?? {}) as { pattern?: Partial<Pattern>; duration?: string };
  return { pattern: patternOf(pattern), duration: duration ?? "" };
}

/** Return how a question about a call ended. */
export function decided(item: QuestionOf<"approval">): string {
  const { choice, by, text, content, changed } = answerTo(item);
  const { operation: what } = askedOf(item.data);
  const { pattern, duration } = given(content);
  if (item.status !== "completed") return `${titleOf(item)} This was not answered.`;
  const who = !by || by === "local" ? "You" : by;
  switch (choice) {
    case "allow":
      return `${who} ${changed ? "changed what it is given and " : ""}allowed ${what} once.`;
    case "task":
      return `${who} allowed ${what} for this task.`;
    case "while":
    case "conversation": {
      const seconds = secondsOf(duration);
      const until = seconds === null ? "" : ` for ${inTime(duration)}, until ${clock(item.updatedAt + seconds)}`;
      return `${who} allowed ${what} in this conversation${until}.`;
    }
    case "always":
      return `${who} always allowed ${pattern ? inWords(pattern) : what}.`;
    case "deny":
      return ending(`${who} did not allow ${what}`, text ?? "");
    default:
      return `${titleOf(item)} This was not answered.`;
  }
}
