import type { Answer } from "../api/types";
import type { Choice } from "../chat/data";
import type { Pattern } from "../policy/pattern";

/** Return a duration in words: "1 hour 30 minutes"; what is none as it was said. */
export function inTime(duration: string): string {
  let left = Math.round(secondsOf(duration) ?? 0);
  const said: string[] = [];
  for (const [unit, size] of [["hour", 3_600], ["minute", 60], ["second", 1]] as const) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count) said.push(`${count} ${unit}${count > 1 ? "s" : ""}`);
  }
  return said.join(" ") || duration;
}

/** Return the seconds of a duration like "5m" or "1h 30m", or null when it is not one. */
export function secondsOf(duration: string): number | null {
  const parts = [...duration.matchAll(/(?<!\d)(\d+(?:\.\d+)?)\s*([smhd])/g)];
  if (!parts.length) return null;
  const units: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (units[unit ?? "s"] ?? 1), 0);
}

/** Return what allows more than the one call: whatever the server offers, the narrowest first. */
export const lastingOf = (choices: readonly Choice[]) => choices.filter(({ id }) => id !== "allow" && id !== "deny");

// What an answer looks like on its way.
export const once: Answer = { choice: "allow" };
export const changed = (given: Record<string, unknown>): Answer => ({ choice: "allow", arguments: given });
export const lasting = (choice: string, pattern: Pattern | null): Answer => ({ choice, ...(pattern && { content: { pattern } }) });
export const denied = (reason: string): Answer => ({ choice: "deny", ...(reason.trim() && { text: reason.trim() }) });
