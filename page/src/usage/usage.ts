import { count } from "../chat/words";
import type { DayUsage, UsageReport } from "../api/types";
import { LOCALE } from "../shell/time";

/** What is drawn: how many tokens, or what they cost. */
export type Measure = "tokens" | "cost";

/** As many models as are told apart by their ink; the others are drawn together. */
const APART = 6;
/** The ink of the others. */
const REST = 8;

/** What one model was used for in all those days, and the ink that draws it. */
export interface ModelUsage extends Omit<DayUsage, "day"> {
  ink: number;
}

/** Tell whether every request has a price. */
export const isPriced = ({ requests, costKnownFor }: Pick<DayUsage, "requests" | "costKnownFor">) => costKnownFor >= requests;

/** Return how much of something was used; what has no price counts as nothing. */
export const amount = (usage: Pick<DayUsage, "input" | "output" | "cost">, measure: Measure) =>
  measure === "cost" ? (usage.cost ?? 0) : usage.input + usage.output;

type Sum = Omit<DayUsage, "day">;

const counts = ["requests", "input", "output", "cacheRead", "cacheWrite", "costKnownFor", "estimated"] as const;

function added(sum: Sum, more: Sum): Sum {
  const cost = sum.cost === null && more.cost === null ? null : (sum.cost ?? 0) + (more.cost ?? 0);
  return { ...sum, cost, ...Object.fromEntries(counts.map((name) => [name, sum[name] + more[name]])) };
}

/** Return what each model was used for, the one with the most tokens first: it keeps its ink whatever is drawn. */
export function byModel(days: readonly DayUsage[]): ModelUsage[] {
  const found = new Map<string, Sum>();
  for (const usage of days) {
    const sum = found.get(usage.model);
    found.set(usage.model, sum ? added(sum, usage) : usage);
  }
  const sorted = [...found.values()].sort((a, b) => amount(b, "tokens") - amount(a, "tokens"));
  return sorted.map((usage, at) => ({ ...usage, ink: at < APART ? at + 1 : REST }));
}

/** A day of the calendar with nothing but its date, at its noon: no change of clocks moves it to another one. */
const noon = (day: string) => new Date(`${day}T12:00:00Z`);

/** Return a day's name: "12 Nov". */
export const dayName = (day: string, locale = LOCALE) =>
  noon(day).toLocaleDateString(locale, { day: "numeric", month: "short", timeZone: "UTC" });

/** Return every day from one to another. */
export function daysBetween(since: string, until: string): string[] {
  const days: string[] = [];
  for (const day = noon(since); day <= noon(until); day.setUTCDate(day.getUTCDate() + 1)) {
    days.push(day.toISOString().slice(0, 10));
  }
  return days;
}

/** What is drawn for one model on one day, between two heights. */
export interface Block {
  model: string;
  name: string;
  ink: number;
  from: number;
  to: number;
}

export interface Column {
  day: string;
  total: number;
  blocks: readonly Block[];
}

/** Return what is drawn for each day: the models on top of each other, in the same order everywhere. */
export function columns({ since, until, days }: Pick<UsageReport, "since" | "until" | "days">, measure: Measure): Column[] {
  const models = byModel(days);
  return daysBetween(since, until).map((day) => {
    const here = days.filter((usage) => usage.day === day);
    let height = 0;
    const blocks = models.flatMap(({ model, modelName, ink }) => {
      const own = here.find((usage) => usage.model === model);
      const value = own ? amount(own, measure) : 0;
      if (!value) return [];
      height += value;
      return [{ model, name: modelName, ink, from: height - value, to: height }];
    });
    return { day, total: height, blocks };
  });
}

/** Steps that people count in. */
const STEPS = [1, 2, 2.5, 5, 10];

/** Return the marks of an axis that reaches beyond a value: few, and round. */
export function marks(highest: number, most = 4): number[] {
  if (highest <= 0) return [0, 1];
  const rough = highest / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (STEPS.find((one) => one * power >= rough) ?? 10);
  return Array.from({ length: Math.ceil(highest / step - 1e-9) + 1 }, (_, at) => at * step);
}

/** Return dollars as an axis or a table has them: "$0", "$0.05", "$12". */
export function dollars(value: number): string {
  if (value === 0) return "$0";
  if (value < 0.0001) return "<$0.0001";
  if (value < 0.1) return `$${Number(value.toPrecision(2))}`;
  return `$${Number.isInteger(value) ? value : value.toFixed(2)}`;
}

/** Return an amount as an axis has it: "1.2M", "$0.05". */
export const shown = (value: number, measure: Measure) => (measure === "cost" ? dollars(value) : count(Math.round(value)));

/** Return what a day was, in words: "12 Nov: 1.2M tokens; Sonnet 0.9M, Haiku 0.3M". */
export function dayWords({ day, total, blocks }: Column, measure: Measure): string {
  if (!total) return `${dayName(day)}: nothing`;
  const largest = [...blocks].sort((a, b) => b.to - b.from - (a.to - a.from));
  const parts = largest.map(({ name, from, to }) => `${name} ${shown(to - from, measure)}`);
  const sum = measure === "cost" ? `about ${dollars(total)}` : `${count(total)} tokens`;
  return `${dayName(day)}: ${sum}; ${parts.join(", ")}`;
}
