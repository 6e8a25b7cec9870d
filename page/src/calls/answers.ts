import { answerTo, asks, type QuestionOf } from "../api/items";
import type { QuestionItem } from "../api/types";
import { answerOf } from "../chat/data";
import { answered } from "../questions/question";

/** Return what was filled in, in a few words. */
function filledIn(content: Record<string, unknown>): string {
  const words = Object.entries(content).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return words.join(", ");
}

function reply(item: QuestionOf<"elicitation">): string {
  const { choice, content } = answerTo(item);
  if (choice === "decline") return "You declined.";
  if (choice === "cancel") return "You cancelled the call.";
  if (item.data.mode === "sign_in") return "You did.";
  const words = filledIn(content ?? {});
  return words ? `You answered: ${words}.` : "You said it is done.";
}

/** Return how a question ended, in one sentence or two. */
export function settled(item: QuestionItem): string {
  const isAnswered = item.status === "completed";
  if (asks(item, "elicitation")) {
    const { server, mode } = item.data;
    const who = server || "A server";
    const asked = mode === "sign_in" ? `${who} asked you to sign in.` : `${who} asked: ${item.text}`;
    return isAnswered ? `${asked} ${reply(item)}` : `${asked} This was not answered.`;
  }
  if (asks(item, "collaboration")) return answered(item);
  return isAnswered ? `${item.text} You answered: ${answerOf(item)}.` : `${item.text} This was not answered.`;
}
