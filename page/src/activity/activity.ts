import { asks, isOpen, type QuestionOf } from "../api/items";
import type { CallItem, Item, ReminderItem, ResultPart, ThinkingItem } from "../api/types";
import { partsOf } from "../calls/call";
import { isAsking, phaseOf, type Phase } from "../calls/phases";
import { callTime } from "../chat/data";
import { duration, seconds } from "../chat/words";

/** What was done, each a row of the list. */
export type Step = CallItem | ThinkingItem | ReminderItem;

const isStep = (item: Item): item is Step =>
  item.kind === "tool_call" || item.kind === "thinking" || item.kind === "reminder";

/** What was done between two things that were said. */
export interface Doings {
  steps: readonly Step[];
  calls: readonly CallItem[];
  /** The question that was asked about each call, by the call's item. */
  questions: ReadonlyMap<string, QuestionOf<"approval">>;
}

/** Return what some items are about: the steps, and what was asked about them. */
export function doingsOf(items: readonly Item[]): Doings {
  const steps = items.filter(isStep);
  const asked = items.filter((item) => asks(item, "approval"));
  return {
    steps,
    calls: steps.filter((step) => step.kind === "tool_call"),
    // A call that was changed may be asked about again: the last word counts.
    questions: new Map(asked.map((item) => [item.data.callItemId ?? "", item])),
  };
}

/** Return the calls under way, the one to look at first: what waits for the person, then what is at work. */
export function underWay({ calls, questions }: Doings): CallItem[] {
  const rank = (item: CallItem) => (isAsking(item, questions.get(item.id)) ? 0 : phaseOf(item) === "executing" ? 1 : 2);
  return calls.filter(isOpen).sort((a, b) => rank(a) - rank(b));
}

/** Return for how long calls were at work, in milliseconds; what was done side by side counts once. */
export function spent(calls: readonly CallItem[]): number {
  const times = calls
    .filter((item) => phaseOf(item) !== "refused")
    .map(callTime)
    .sort((a, b) => a.began - b.began);
  let [all, until] = [0, 0];
  for (const { began, took } of times) {
    const end = began + (took ?? 0);
    all += Math.max(0, end - Math.max(began, until));
    until = Math.max(until, end);
  }
  return all;
}

export interface Trouble {
  words: string;
  tone: "bad" | "warning";
}

/** A command may run to its end and say that it did not succeed. */
const kindOf = (item: CallItem) => (phaseOf(item) === "completed" && item.data.exitCode ? "exited" : phaseOf(item));

const troubles: readonly (readonly [Phase | "exited", string, Trouble["tone"]])[] = [
  ["failed", "failed", "bad"],
  ["exited", "exited with an error", "warning"],
  ["refused", "not allowed", "warning"],
  ["timed_out", "timed out", "warning"],
  ["unknown", "may have happened", "warning"],
  ["cancelled", "cancelled", "warning"],
];

/** Return what did not go well, in words: it is seen without opening anything. */
export function troublesOf(calls: readonly CallItem[]): Trouble[] {
  return troubles.flatMap(([kind, words, tone]) => {
    const count = calls.filter((item) => kindOf(item) === kind).length;
    return count ? [{ words: `${count} ${words}`, tone }] : [];
  });
}

/** Return what was done, in a few words: "Used 3 tools · 1.1 s". */
export function summaryOf({ steps, calls }: Doings): string {
  if (calls.length) return `Used ${calls.length === 1 ? "1 tool" : `${calls.length} tools`} · ${duration(spent(calls))}`;
  const thoughts = steps.filter((step) => step.kind === "thinking");
  const ms = thoughts.reduce((all, { data: { durationMs } }) => all + (durationMs ?? 0), 0);
  if (thoughts.length) return ms ? `Thought for ${seconds(ms)}` : "Thought";
  return "Reminders to the model";
}

/** More pictures than this are looked at in their rows. */
const PICTURES = 4;

export interface FlowPicture {
  itemId: string;
  part: ResultPart;
  /** Whether it was asked for, and is what the call was for. */
  isMade: boolean;
}

/** The tool whose results are pictures. */
const MAKES_PICTURES = "image_generation";

/** Return the pictures that stand in the flow: the last ones that tools drew. */
export function picturesOf(calls: readonly CallItem[]): FlowPicture[] {
  const all = calls.flatMap((item) => {
    const isMade = item.data.tool === MAKES_PICTURES;
    return partsOf(item).flatMap((part) => (part.kind === "image" ? [{ itemId: item.id, part, isMade }] : []));
  });
  return all.slice(-PICTURES);
}
