const named: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0" };

// Control signs, the ones that are not seen or turn the direction of what follows, and spaces enough to push
// something out of sight. A single space is seen.
const unseen =
  / {3,}|[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029\u00a0\u115f\u1160\u1680\u180b-\u180f\u2000-\u200a\u202f\u205f\u3000\u3164\uffa0\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/gu;

/** A piece of a text; one that is `escaped` stands for a sign that could not be seen. */
export interface Piece {
  text: string;
  escaped: boolean;
}

function spelled(sign: string): string {
  if (sign.startsWith(" ")) return `␣×${sign.length}`;
  const code = sign.codePointAt(0) ?? 0;
  return named[sign] ?? `\\u{${code.toString(16).padStart(4, "0")}}`;
}

/** Line breaks, tabs, indents and the joints of emoji belong to prose. */
const isProse = (sign: string) => /^([\n\t\u00a0\u200d\ufe0f]| {3,40})$/.test(sign);

/** Cut a text into what is seen as it is and what has to be spelled out; prose keeps what prose needs. */
export function visible(text: string, prose = false): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(unseen)) {
    if (prose && isProse(match[0])) continue;
    if (match.index > from) pieces.push({ text: text.slice(from, match.index), escaped: false });
    pieces.push({ text: spelled(match[0]), escaped: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), escaped: false });
  return pieces;
}
