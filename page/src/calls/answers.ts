import type { Item } from "../api/types";
import { answerOf, record, text } from "../chat/data";
import { answered } from "../questions/question";

/** Return what was filled in, in a few words. */
function filledIn(content: Record<string, unknown>): string {
  const words = Object.entries(content).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return words.join(", ");
}

function reply(item: Item, choice: string): string {
  if (choice === "decline") return "You declined.";
  if (choice === "cancel") return "You cancelled the call.";
  const content = filledIn(record(record(item.data.answer).content));
  return content ? `You answered: ${content}.` : "You said it is done.";
}

/** Return how a question ended, in one sentence or two. */
export function settled(item: Item): string {
  const choice = text(record(item.data.answer).choice);
  const isAnswered = item.status === "completed";
  if (item.data.kind === "elicitation") {
    const asked = `${text(item.data.server) || "A server"} asked: ${item.text}`;
    return isAnswered ? `${asked} ${reply(item, choice)}` : `${asked} This was not answered.`;
  }
  if (item.data.kind === "collaboration") return answered(item);
  return isAnswered ? `${item.text} You answered: ${answerOf(item)}.` : `${item.text} This was not answered.`;
}
