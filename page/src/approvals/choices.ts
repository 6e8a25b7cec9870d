import type { Answer } from "../api/types";
import type { Pattern } from "../policy/pattern";

/** How long a permission for a conversation may hold: as it is sent, and in words. */
export const durations = [
  ["1m", "1 minute", 60],
  ["5m", "5 minutes", 300],
  ["15m", "15 minutes", 900],
  ["1h", "1 hour", 3_600],
] as const;

export type Duration = (typeof durations)[number][0];

const found = (duration: string) => durations.find(([id]) => id === duration);

/** Return a duration in words; one that is not on the list as it was said. */
export const inTime = (duration: string) => found(duration)?.[1] ?? duration;

/** Return the seconds of a duration like "5m" or "1h 30m", or null when it is not one. */
export function secondsOf(duration: string): number | null {
  const parts = [...duration.matchAll(/(?<!\d)(\d+(?:\.\d+)?)\s*([smhd])/g)];
  if (!parts.length) return null;
  const units: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (units[unit ?? "s"] ?? 1), 0);
}

/** Return a time of day, from seconds since the epoch. */
export const clock = (seconds: number) =>
  new Date(seconds * 1000).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });

// What an answer looks like on its way.
export const once: Answer = { choice: "allow" };
export const forAWhile = (duration: string, pattern: Pattern | null): Answer => ({
  choice: "conversation",
  content: pattern ? { duration, pattern } : { duration },
});
export const always = (pattern: Pattern): Answer => ({ choice: "always", content: { pattern } });
export const denied = (reason: string): Answer => ({ choice: "deny", ...(reason.trim() && { text: reason.trim() }) });
