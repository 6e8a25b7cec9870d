import type { Item } from "../api/types";

// What an item's `data` holds is open; these read it without trusting it.

/** Return an object, or an empty one for anything else. */
export function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function number(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export interface Usage {
  input: number | null;
  output: number | null;
  cached: number | null;
  reasoning: number | null;
  firstTokenMs: number | null;
  tokensPerSecond: number | null;
}

/** Return what an answer cost and how fast it came. */
export function usageOf(item: Item): Usage {
  const usage = record(item.data.usage);
  return {
    input: number(usage.input),
    output: number(usage.output),
    cached: number(usage.cacheRead),
    reasoning: number(usage.reasoning),
    firstTokenMs: number(item.data.firstTokenMs),
    tokensPerSecond: number(item.data.tokensPerSecond),
  };
}

export const durationOf = (item: Item) => number(item.data.durationMs);
export const isCutOff = (item: Item) => item.data.cutOff === true;
export const untilOf = (item: Item) => number(item.data.until);
export const errorOf = (item: Item) => text(record(item.data.error).message);

export interface Choice {
  id: string;
  label: string;
}

/** Return the answers that a question offers. */
export function choicesOf({ data }: Pick<Item, "data">): Choice[] {
  const choices = Array.isArray(data.choices) ? data.choices : [];
  return choices
    .map((choice) => record(choice))
    .map((choice) => ({ id: text(choice.id), label: text(choice.label) || text(choice.id) }))
    .filter((choice) => choice.id);
}

/** Return how a question was answered, in words, or null while it is open. */
export function answerOf(item: Item): string | null {
  if (item.status === "waiting" || item.status === "streaming") return null;
  const answer = record(item.data.answer);
  const chosen = choicesOf(item).find((choice) => choice.id === answer.choice);
  return chosen?.label ?? (text(answer.text) || text(answer.choice) || "not answered");
}

/** Return when a call began and, once it is over, how long it took; times in milliseconds. */
export function callTime(item: Item): { began: number; took: number | null } {
  const phases = record(item.data.phases);
  // What came before its execution was the model's time, or the person's.
  const began = (number(phases.executing) ?? number(phases.started) ?? item.createdAt) * 1000;
  const isOver = item.status !== "streaming" && item.status !== "waiting";
  const exact = number(item.data.elapsedMs);
  return { began, took: isOver ? (exact ?? Math.max(0, item.updatedAt * 1000 - began)) : null };
}

/** Return a call's arguments as text, or what came instead of them. */
export function argumentsOf(item: Item): string {
  const given = item.data.arguments;
  if (given !== null && given !== undefined) return JSON.stringify(given, null, 2);
  return text(item.data.rawArguments);
}
