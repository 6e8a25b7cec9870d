/** Gives a share of many cases of one kind, another one each time; all of them with TEST_LONG=1. SAMPLE_SEED=… repeats a run. */
const SHARE = 0.1;
const { TEST_LONG = "", SAMPLE_SEED = String(Math.floor(Math.random() * 1_000_000)) } = process.env;
const isLong = TEST_LONG !== "" && TEST_LONG !== "0";

/** Return numbers from 0 up to 1 that follow from the seed and a name. */
function numbers(name: string): () => number {
  let state = 0;
  for (const sign of `${SAMPLE_SEED} ${name}`) state = (Math.imul(state, 31) + sign.charCodeAt(0)) | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Return a share of the cases, in their order and at least one; each name has a choice of its own. */
export function sample<Case>(cases: readonly Case[], name: string, share = SHARE): Case[] {
  if (isLong || cases.length === 0) return [...cases];
  console.info(`A share of the ${name}: SAMPLE_SEED=${SAMPLE_SEED} repeats it, TEST_LONG=1 runs all.`);
  const next = numbers(name);
  const count = Math.max(1, Math.floor(cases.length * share + next()));
  const order = cases.map((_, place) => ({ place, by: next() })).sort((one, other) => one.by - other.by);
  const places = new Set(order.slice(0, count).map(({ place }) => place));
  return cases.filter((_, place) => places.has(place));
}
