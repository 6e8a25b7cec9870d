import type { Conversation } from "../api/types";

export interface Day {
  name: string;
  conversations: Conversation[];
}

const DAY_MS = 86_400_000;

function startOfDay(ms: number): number {
  const date = new Date(ms);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}

/** Return how a person names the day of a moment, seen from now. */
export function dayName(ms: number, now: number, locale?: string): string {
  // Rounding, because a day of a clock change is an hour longer or shorter.
  const days = Math.round((startOfDay(now) - startOfDay(ms)) / DAY_MS);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  const date = new Date(ms);
  if (days < 7) return date.toLocaleDateString(locale, { weekday: "long" });
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  return date.toLocaleDateString(locale, { month: "long", ...(!isThisYear && { year: "numeric" }) });
}

/** Group conversations, newest first, by the day they were last used. */
export function byDay(conversations: readonly Conversation[], now: number, locale?: string): Day[] {
  const days: Day[] = [];
  for (const conversation of conversations) {
    const name = dayName(conversation.updatedAt * 1000, now, locale);
    const last = days[days.length - 1];
    if (last?.name === name) last.conversations.push(conversation);
    else days.push({ name, conversations: [conversation] });
  }
  return days;
}
