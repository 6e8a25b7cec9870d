/** As the page's words are: a day before its month, and twenty-four hours. */
export const LOCALE = "en-GB";

/** Return a time of day, from seconds since the epoch. */
export const clock = (at: number) => new Date(at * 1000).toLocaleTimeString(LOCALE, { hour: "2-digit", minute: "2-digit" });

/** Return a day as short as it stays clear, from seconds since the epoch: without its year if that is this one. */
export function day(at: number, now = Date.now()): string {
  const date = new Date(at * 1000);
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  return date.toLocaleDateString(LOCALE, { day: "numeric", month: "short", ...(!isThisYear && { year: "numeric" }) });
}

const withDay = (at: number, now: number, time: string) =>
  new Date(at * 1000).toDateString() === new Date(now).toDateString() ? time : `${day(at, now)}, ${time}`;

/** Return when something was: the time of today, else the day, too. */
export const when = (at: number, now = Date.now()) => withDay(at, now, clock(at));

/** Return when something was to the second, where several things happen in a minute. */
export const moment = (at: number, now = Date.now()) => withDay(at, now, new Date(at * 1000).toLocaleTimeString(LOCALE));
