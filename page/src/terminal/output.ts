/** What is kept of a command's output in the page; the newest counts. */
const KEPT_CHARS = 400_000;

/** Return the output so far with what came since; of a very long one, its end. */
export function joinedOutput(before: string, more: string): string {
  const whole = before + more;
  return whole.length > KEPT_CHARS ? whole.slice(whole.length - KEPT_CHARS) : whole;
}
