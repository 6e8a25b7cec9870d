import type { CompactionItem } from "../api/types";

/** Return a length of time for people: "0.4 s", "12 s", "3 min 5 s". */
export function seconds(ms: number): string {
  const value = Math.max(0, ms) / 1000;
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 60) return `${Math.round(value)} s`;
  const whole = Math.round(value);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** Return how long something took: like `seconds`, and what was too quick for them in milliseconds. */
export const duration = (ms: number) => (ms < 100 ? `${Math.round(Math.max(0, ms))} ms` : seconds(ms));

/** Return a count for people: "950", "12.3k", "2.1M". */
export function count(value: number): string {
  if (value < 1_000) return String(value);
  if (value < 1_000_000) return `${(value / 1_000).toFixed(value < 10_000 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

/** Return about what something cost: "about $0.0042", "about $1.50". */
export function cost(dollars: number): string {
  if (dollars < 0.0001) return "less than $0.0001";
  return `about $${dollars < 0.1 ? Number(dollars.toPrecision(2)) : dollars.toFixed(2)}`;
}

/** Return a size for people: "512 bytes", "12 KB". */
export function size(bytes: number): string {
  if (bytes < 1_024) return `${bytes} bytes`;
  if (bytes < 1_048_576) return `${Math.round(bytes / 1_024)} KB`;
  return `${(bytes / 1_048_576).toFixed(1)} MB`;
}

const counted = (value: number, what: string) => `${value.toLocaleString("en")} ${what}${value === 1 ? "" : "s"}`;

/** Return what a summary stands for and how long it is, in a line: "Older turns summed up: 212 messages → 640 words". */
export function summedUp({ text, data }: Pick<CompactionItem, "text" | "data">): string {
  const { messages = 0, calls = 0, noted = "" } = data;
  const words = counted(`${text} ${noted}`.split(/\s+/).filter(Boolean).length, "word");
  const replaced = [messages && counted(messages, "message"), calls && counted(calls, "call")].filter(Boolean);
  return replaced.length ? `Older turns summed up: ${replaced.join(" and ")} → ${words}` : `Older turns summed up in ${words}`;
}
