import type { ReplayStep, Run, RunDifference, RunSummary, StepDifference } from "../api/types";
import { cost, count, duration } from "../chat/words";

/** Why a replay goes no further. */
export const NOT_RECORDED = "Stopped here: this call was not recorded, so there is no result to give it.";

const kinds: Record<string, string> = {
  same: "the same",
  calls: "other calls",
  arguments: "other arguments",
  text: "other words",
  only_before: "only in the original",
  only_after: "only in the replay",
};

/** Return how a step differs, in words. */
export const stepWords = ({ differs }: StepDifference): string => differs.map((kind) => kinds[kind] ?? kind).join(", ");

export const isSame = ({ differs }: StepDifference): boolean => differs.every((kind) => kind === "same");

/** Return both runs in a sentence: what they share, what they do not. */
export function verdict({ sameCalls, sameAnswer, before, after }: RunDifference): string {
  const calls = !before.calls && !after.calls ? "no calls" : sameCalls ? "the same calls" : "other calls";
  const end = after.status !== "completed" ? "came to no answer" : sameAnswer ? "came to the same answer" : "came to another answer";
  return `The replay made ${calls} and ${end}.`;
}

/** Return what a step took, in words; what is not known is left out. */
export function stepFacts(step: ReplayStep): string {
  const { usage, cost: dollars, durationMs } = step;
  const facts = [
    usage && `${count(usage.input)} tokens in, ${count(usage.output)} out`,
    dollars !== null && cost(dollars),
    durationMs !== null && duration(durationMs),
  ];
  return facts.filter(Boolean).join(" · ");
}

/** Return why a replay did not come to its end, in plain words; "" for one that did. */
export function endWords({ after, steps }: RunDifference): string {
  const at = steps.find((step) => step.after?.calls.some(({ status }) => status === "not_recorded"));
  if (at) return `It stopped at step ${at.number}: the original never made this call, so no result of it was recorded. Nothing was executed.`;
  if (after.stopped) return after.stopped;
  return after.status === "cancelled" ? "You stopped it before its end." : "";
}

export interface Fact {
  name: string;
  before: string;
  after: string;
  /** By how much it changed; "" where that cannot be said. */
  change: string;
}

/** Return by how much a number changed: "−38 %", "×12", "+4", "as before". */
function change(before: number | null, after: number | null, isShare: boolean): string {
  if (before === null || after === null) return "";
  if (before === after) return "as before";
  const sign = after > before ? "+" : "−";
  if (!isShare) return `${sign}${Math.abs(after - before)}`;
  if (!before) return "";
  if (after >= 3 * before) return `×${Math.round(after / before)}`;
  const share = (100 * Math.abs(after - before)) / before;
  // Next to nothing is not nothing.
  const most = after > 0 && after < before ? 99 : Infinity;
  return `${sign}${share < 1 ? "<1" : Math.min(most, Math.round(share))} %`;
}

/** Return what both runs took, number by number. */
export function summaryFacts(before: RunSummary, after: RunSummary): Fact[] {
  type Shown = [string, (run: RunSummary) => number | null, (value: number) => string, boolean];
  const shown: Shown[] = [
    ["Steps", ({ steps }) => steps, String, false],
    ["Calls", ({ calls }) => calls, String, false],
    ["Tokens in", ({ usage }) => usage.input, count, true],
    ["Tokens out", ({ usage }) => usage.output, count, true],
    ["Cost", (run) => run.cost, cost, true],
    ["Time", (run) => run.durationMs, duration, true],
  ];
  return shown.map(([name, of, words, isShare]) => {
    const [first, second] = [of(before), of(after)];
    const said = (value: number | null) => (value === null ? "not known" : words(value));
    return { name, before: said(first), after: said(second), change: change(first, second, isShare) };
  });
}

/** Return what a replay does otherwise than the conversation, in a few words. */
export function wishWords({ options }: Run): string {
  const { temperature, systemPrompt } = options;
  const parts = [temperature !== null && `temperature ${temperature}`, systemPrompt !== null && (systemPrompt ? "own system prompt" : "no system prompt")];
  return parts.filter(Boolean).join(" · ");
}

