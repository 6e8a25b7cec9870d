/** A piece of a text; whether the other text lacks it. */
export interface Piece {
  text: string;
  differs: boolean;
}

/** Comparing takes the product of both lengths; beyond this what lies between the common ends counts as different. */
const MAX_CELLS = 1_500_000;

/** Words, spaces and signs, each on its own. */
const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];

/** Return how many words two ends have in common, for every pair of beginnings. */
function table(before: readonly string[], after: readonly string[]): Uint16Array[] {
  const rows = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i -= 1) {
    const [row, next] = [rows[i] as Uint16Array, rows[i + 1] as Uint16Array];
    for (let j = after.length - 1; j >= 0; j -= 1)
      row[j] = before[i] === after[j] ? (next[j + 1] ?? 0) + 1 : Math.max(next[j] ?? 0, row[j + 1] ?? 0);
  }
  return rows;
}

/** Mark which words of the middle parts are on one side alone. */
function marked(before: readonly string[], after: readonly string[]): [boolean[], boolean[]] {
  const marks: [boolean[], boolean[]] = [before.map(() => true), after.map(() => true)];
  if (before.length * after.length > MAX_CELLS) return marks;
  const common = table(before, after);
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) [marks[0][i++], marks[1][j++]] = [false, false];
    else if ((common[i + 1]?.[j] ?? 0) >= (common[i]?.[j + 1] ?? 0)) i += 1;
    else j += 1;
  }
  return marks;
}

/** Return words as pieces, as few as there can be; a space between two words that differ belongs to them. */
function pieces(words: readonly string[], marks: readonly boolean[]): Piece[] {
  const found: Piece[] = [];
  words.forEach((text, at) => {
    const isBetween = !text.trim() && marks[at - 1] === true && marks[at + 1] === true;
    const differs = isBetween || (marks[at] ?? false);
    const last = found.at(-1);
    if (last?.differs === differs) last.text += text;
    else found.push({ text, differs });
  });
  return found;
}

/** Return two texts in pieces: what one has and the other lacks is marked. */
export function differences(before: string, after: string): [Piece[], Piece[]] {
  const [first, second] = [wordsOf(before), wordsOf(after)];
  let head = 0;
  while (head < Math.min(first.length, second.length) && first[head] === second[head]) head += 1;
  let tail = 0;
  const most = Math.min(first.length, second.length) - head;
  while (tail < most && first[first.length - 1 - tail] === second[second.length - 1 - tail]) tail += 1;
  const middle = (words: readonly string[]) => words.slice(head, words.length - tail);
  const [one, other] = marked(middle(first), middle(second));
  const same = (length: number) => Array.from({ length }, () => false);
  const all = (words: readonly string[], marks: readonly boolean[]) => pieces(words, [...same(head), ...marks, ...same(tail)]);
  return [all(first, one), all(second, other)];
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, member]) => [name, sorted(member)]));
}

/** Return arguments as text that can be compared: in one order, a line for each; what is no JSON, or was cut, as it is. */
export function argumentsText(source: string): string {
  try {
    const value: unknown = JSON.parse(source);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return source;
    const entries = Object.entries(sorted(value) as Record<string, unknown>);
    return entries.map(([name, member]) => `${name}: ${typeof member === "string" ? member : JSON.stringify(member, null, 1)}`).join("\n");
  } catch {
    return source;
  }
}
