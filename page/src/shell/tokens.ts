/** No model reads or writes as many; whoever types more has slipped. */
const MOST = 1_000_000_000;

/** Return one sentence for a number of tokens that cannot be one. */
export function tokensError(value: number | "" | null | undefined, what = "It"): string | undefined {
  if (value === "" || value === null || value === undefined) return undefined;
  if (!Number.isInteger(value) || value < 1) return `${what} is a whole number of tokens, 1 or more.`;
  return value > MOST ? `No model gives or takes more than ${MOST.toLocaleString("en")} tokens.` : undefined;
}
