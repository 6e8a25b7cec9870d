import { answerTo, isOpen } from "../api/items";
import type { CallItem, ChoiceShown, QuestionItem, ResponseItem, Source } from "../api/types";

export interface Usage {
  input: number | null;
  output: number | null;
  cached: number | null;
  reasoning: number | null;
  /** Whether its provider did not come to count it: it was stopped or broke off. */
  isEstimated: boolean;
  firstTokenMs: number | null;
  tokensPerSecond: number | null;
  /** About what it cost, in dollars; null where no price is known. */
  cost: number | null;
}

/** Return what is known of some values together; null where nothing is. */
function sum(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((value) => typeof value === "number");
  return known.length ? known.reduce((all, value) => all + value, 0) : null;
}

/** Return what an answer cost and how fast it came: of one that was cut and went on, everything that it took together. */
export function usageOf(items: readonly ResponseItem[]): Usage {
  const all = items.map(({ data }) => data);
  return {
    input: sum(all.map(({ usage }) => usage?.input)),
    output: sum(all.map(({ usage }) => usage?.output)),
    cached: sum(all.map(({ usage }) => usage?.cacheRead)),
    reasoning: sum(all.map(({ usage }) => usage?.reasoning)),
    isEstimated: all.some(({ usage }) => usage?.estimated),
    firstTokenMs: all[0]?.firstTokenMs ?? null,
    tokensPerSecond: all.at(-1)?.tokensPerSecond ?? null,
    cost: sum(all.map(({ cost }) => cost)),
  };
}

/** Return why an answer or a call failed. */
export const errorOf = ({ data: { error } }: ResponseItem | CallItem) => error?.message ?? "";

/** Return words of a stranger in one line, without characters that nobody sees or that turn others around. */
const oneLine = (words: string) => words.replace(/[\p{C}\s]+/gu, " ").trim().slice(0, 300);

/** Return what answers cite, each once; an address that is none stays what it is. */
export function sourcesOf(items: readonly Pick<ResponseItem, "data">[]): Source[] {
  const found = new Map<string, Source>();
  for (const { url = "", title = "", quote = "" } of items.flatMap(({ data: { sources = [] } }) => sources)) {
    const source = { url, title: oneLine(title), quote: oneLine(quote) };
    const name = source.url || source.title;
    if (name && !found.has(name)) found.set(name, source);
  }
  return [...found.values()];
}

export type Choice = Required<ChoiceShown>;

/** Return the answers that a question offers. */
export function choicesOf({ data: { choices = [] } }: Pick<QuestionItem, "data">): Choice[] {
  return choices.flatMap(({ id, label, note = "", durations = [] }) => (id ? [{ id, label: label || id, note, durations }] : []));
}

/** Return how a question was answered, in words, or null while it is open. */
export function answerOf(item: QuestionItem): string | null {
  if (isOpen(item)) return null;
  const { choice, text } = answerTo(item);
  const chosen = choicesOf(item).find(({ id }) => id === choice);
  return chosen?.label ?? (text || choice || "not answered");
}

/** Return when a call began and, once it is over, how long it took; times in milliseconds. */
export function callTime(item: CallItem): { began: number; took: number | null } {
  const { phases = {}, elapsedMs } = item.data;
  // What came before its execution was the model's time, or the person's.
  const began = (phases.executing ?? phases.started ?? item.createdAt) * 1000;
  return { began, took: isOpen(item) ? null : (elapsedMs ?? Math.max(0, item.updatedAt * 1000 - began)) };
}

/** Return a call's arguments as text, or what came instead of them. */
export function argumentsOf({ data: { arguments: given, rawArguments = "" } }: CallItem): string {
  return given ? JSON.stringify(given, null, 2) : rawArguments;
}
