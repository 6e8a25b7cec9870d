/** A line of a difference: it stayed, went, or came; null stands for lines left out. */
export type DiffLine = { kind: "same" | "gone" | "new"; text: string } | null;

/** Comparing takes the product of both lengths; beyond this both are shown whole. */
const MAX_CELLS = 1_000_000;
const CONTEXT = 2;

/** Return how many lines two ends have in common, for every pair of beginnings. */
function table(before: readonly string[], now: readonly string[]): Uint32Array[] {
  const rows = Array.from({ length: before.length + 1 }, () => new Uint32Array(now.length + 1));
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const [row, next] = [rows[i] as Uint32Array, rows[i + 1] as Uint32Array];
      row[j] = before[i] === now[j] ? (next[j + 1] ?? 0) + 1 : Math.max(next[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return rows;
}

function whole(before: readonly string[], now: readonly string[]): DiffLine[] {
  const gone = before.map((text) => ({ kind: "gone" as const, text }));
  return [...gone, ...now.map((text) => ({ kind: "new" as const, text }))];
}

function compared(before: readonly string[], now: readonly string[]): DiffLine[] {
  if (before.length * now.length > MAX_CELLS) return whole(before, now);
  const common = table(before, now);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < now.length) {
    const isSame = i < before.length && j < now.length && before[i] === now[j];
    const goes = j >= now.length || (i < before.length && (common[i + 1]?.[j] ?? 0) >= (common[i]?.[j + 1] ?? 0));
    if (isSame) {
      lines.push({ kind: "same", text: before[i] ?? "" });
      i += 1;
      j += 1;
    } else if (goes) lines.push({ kind: "gone", text: before[i++] ?? "" });
    else lines.push({ kind: "new", text: now[j++] ?? "" });
  }
  return lines;
}

/** Return what changed between two texts, line by line, with a little of what stayed around it. */
export function difference(before: string, now: string): DiffLine[] {
  const lines = compared(before.split("\n"), now.split("\n"));
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((line) => line?.kind !== "same"),
  );
  const kept: DiffLine[] = [];
  lines.forEach((line, at) => {
    if (near[at]) kept.push(line);
    else if (kept.at(-1) !== null) kept.push(null);
  });
  return kept;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value === "string" && value.includes("\n")) return value.split("\n");
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, sorted(member)]));
}

/** Return a definition as text that can be compared: in one order, and each line of a long text by itself. */
export function definitionText(definition: Record<string, unknown>): string {
  return JSON.stringify(sorted(definition), null, 2);
}
