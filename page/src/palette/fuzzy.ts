/** How well a text fits what was typed, and which of its characters were matched. */
export interface Match {
  score: number;
  at: readonly number[];
}

const isWordStart = (text: string, at: number) => at === 0 || /[\s\-_./:“(]/.test(text[at - 1] ?? "");

/** The value of a matched character: most when it follows the one before, then at a word's start. */
function worth(text: string, at: number, before: number): number {
  if (before === at - 1) return 9;
  return isWordStart(text, at) ? 8 : 1;
}

/** Try one start: take each letter where it comes next, but rather at a word's start if there is one. */
function matchFrom(text: string, letters: string, start: number): Match | null {
  const at: number[] = [];
  let score = 0;
  let from = start;
  for (const letter of letters) {
    let next = text.indexOf(letter, from);
    if (next < 0) return null;
    const follows = at.length > 0 && next === from;
    for (let later = next; !follows && later >= 0; later = text.indexOf(letter, later + 1)) {
      if (!isWordStart(text, later) || !isLeft(text, letters.slice(at.length + 1), later + 1)) continue;
      next = later;
      break;
    }
    score += worth(text, next, at.at(-1) ?? -2);
    at.push(next);
    from = next + letter.length;
  }
  // Of two that fit alike, the shorter text is nearer to what was typed.
  return { score: score - text.length / 100 - (at[0] ?? 0) / 50, at };
}

function isLeft(text: string, letters: string, from: number): boolean {
  let at = from;
  for (const letter of letters) {
    const next = text.indexOf(letter, at);
    if (next < 0) return false;
    at = next + letter.length;
  }
  return true;
}

/** Match what was typed against a text: its letters in order, with anything between them. */
export function fuzzy(query: string, text: string): Match | null {
  const letters = query.toLowerCase().replace(/\s+/g, "");
  const lower = text.toLowerCase();
  if (!letters) return { score: 0, at: [] };
  // Lower case may be longer than the text it came from; then places would not fit any more.
  if (lower.length !== text.length) return lower.includes(query.toLowerCase().trim()) ? { score: 1, at: [] } : null;
  let best: Match | null = null;
  for (let start = lower.indexOf(letters[0] ?? ""); start >= 0; start = lower.indexOf(letters[0] ?? "", start + 1)) {
    const found = matchFrom(lower, letters, start);
    if (!found) break;
    if (!best || found.score > best.score) best = found;
  }
  return best;
}
