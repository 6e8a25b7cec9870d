/** How much of a text is taken at a time: many short lines become more on the page than the same length of prose. */
export interface Most {
  chars: number;
  lines: number;
}

/** Return where a piece of a text ends: after so many characters or lines, whichever comes first. */
export function endOf(text: string, start: number, most: Most): number {
  const furthest = start + most.chars;
  let end = start;
  for (let line = 0; line < most.lines; line += 1) {
    const next = text.indexOf("\n", end) + 1;
    if (!next || next > furthest) return furthest;
    end = next;
  }
  return end;
}
