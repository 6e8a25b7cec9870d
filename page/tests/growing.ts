/** As long is the text of a first look: work that begins anew at many places of it takes far longer than `SOON`. */
const FIRST_LOOK = 16 * 1024;
const SOON = 1.5;
/** Below it a clock says little about how a time grows. */
const NOISE = 1;
/** Well above the noise: whatever grows faster than the text has shown it by then. */
const PLAIN = 4;
/** Doubling the text may do this to the time; twice is what is wanted, the rest is for caches and a busy machine. */
const GROWTH = 3;
const TRIES = 3;
/** Milliseconds for a character: nothing that reads a text once is as slow. */
const HOPELESS = 0.01;

/** Return the milliseconds of processor time that some work takes. */
export function milliseconds(work: () => unknown): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

const least = (work: (size: number) => unknown, size: number) =>
  Math.min(...Array.from({ length: TRIES }, () => milliseconds(() => work(size))));

/** Look again where doubling did too much; something else may have been in the way, so it must do it twice. */
function told(work: (size: number) => unknown, size: number): string {
  const [half, whole] = [least(work, size / 2), least(work, size)];
  if (whole <= GROWTH * Math.max(half, NOISE / 4)) return "";
  // What would take for ever is not doubled once more.
  if (whole > HOPELESS * size) return `${size / 2} take ${half.toFixed(1)} ms, ${size} take ${whole.toFixed(1)} ms`;
  const double = least(work, size * 2);
  return double > GROWTH * whole ? `${size} take ${whole.toFixed(1)} ms, ${size * 2} take ${double.toFixed(1)} ms` : "";
}

/** Return what is wrong with how some work grows up to a length of text; empty if doubling at most triples it. */
export function growth(work: (size: number) => unknown, longest: number): string {
  let before = 0;
  // From short texts on: nothing can stop an expression that would take for ever.
  for (let size = 8; size <= longest && before < PLAIN; size += size >= 128 ? size : 8) {
    const now = milliseconds(() => work(size));
    if (now > NOISE && now > GROWTH * Math.max(before, NOISE / 4)) {
      const words = told(work, size);
      if (words) return words;
    }
    if (size >= FIRST_LOOK && now < SOON) return "";
    before = now;
  }
  return "";
}
