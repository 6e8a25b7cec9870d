/** A difference below this is the network's, or the header's, which counts whole seconds. */
const TOLERANCE_MS = 2_000;

let aheadMs = 0;

/** Learn the host's clock from the date of an answer: what happens there is told in its time. */
export function learnClock(date: string | null, now = Date.now()): void {
  const told = date ? Date.parse(date) : NaN;
  if (Number.isNaN(told)) return;
  aheadMs = Math.abs(told - now) > TOLERANCE_MS ? told - now : 0;
}

/** Return the time by the host's clock, in milliseconds; a device that is wrong counts right nevertheless. */
export function hostNow(): number {
  return Date.now() + aheadMs;
}
