/** A line of a unified diff: where it stands before and after, and its text without the sign in front. */
export interface DiffLine {
  kind: "file" | "hunk" | "same" | "new" | "gone" | "note";
  text: string;
  before: number | null;
  now: number | null;
}

export interface Diff {
  lines: readonly DiffLine[];
  added: number;
  removed: number;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/;

/** Where a hunk stands and how many of its lines are still to come. */
interface Place {
  before: number;
  now: number;
  beforeLeft: number;
  nowLeft: number;
}

const nowhere: Place = { before: 0, now: 0, beforeLeft: 0, nowLeft: 0 };

function placeOf(head: RegExpExecArray): Place {
  const [before, beforeLeft, now, nowLeft] = [1, 2, 3, 4].map((at) => (head[at] === undefined ? 1 : Number(head[at])));
  return { before: before ?? 0, now: now ?? 0, beforeLeft: beforeLeft ?? 1, nowLeft: nowLeft ?? 1 };
}

function changed(line: string, place: Place): DiffLine | null {
  const sign = line[0] ?? " ";
  const text = line.slice(1);
  if (sign === "-" && place.beforeLeft > 0) {
    place.beforeLeft -= 1;
    return { kind: "gone", text, before: place.before++, now: null };
  }
  if (sign === "+" && place.nowLeft > 0) {
    place.nowLeft -= 1;
    return { kind: "new", text, before: null, now: place.now++ };
  }
  if (sign !== " " || place.beforeLeft <= 0 || place.nowLeft <= 0) return null;
  place.beforeLeft -= 1;
  place.nowLeft -= 1;
  return { kind: "same", text, before: place.before++, now: place.now++ };
}

/** Read a unified diff. Only what a hunk's head announces is a change: no line of a file can pass for a head. */
export function parseDiff(source: string): Diff {
  const lines: DiffLine[] = [];
  let place = { ...nowhere };
  for (const line of source.replace(/\n$/, "").split("\n")) {
    const inside = changed(line, place);
    const head = inside ? null : HUNK.exec(line);
    if (inside) lines.push(inside);
    else if (head) {
      place = placeOf(head);
      lines.push({ kind: "hunk", text: line, before: null, now: null });
    } else {
      const isFile = /^(---|\+\+\+) /.test(line);
      if (line) lines.push({ kind: isFile ? "file" : "note", text: line, before: null, now: null });
    }
  }
  const count = (kind: DiffLine["kind"]) => lines.filter((line) => line.kind === kind).length;
  return { lines, added: count("new"), removed: count("gone") };
}

/** Return the lines to draw: the names of the files stand above them already. */
export function drawnLines(diff: Diff): readonly DiffLine[] {
  // A diff that begins where the file begins needs no words about where it begins.
  const isHead = (line: DiffLine, at: number) => line.kind === "hunk" && at === 0 && /^@@ -[01](,\d+)? \+[01](,| )/.test(line.text);
  const lines = diff.lines.filter((line) => line.kind !== "file").filter((line, at) => !isHead(line, at));
  const content = lines.filter(({ kind }) => kind === "same" || kind === "new" || kind === "gone");
  // Line ends that all lines share say nothing about the change.
  const isForeign = content.length > 0 && content.every(({ text }) => text.endsWith("\r"));
  return isForeign ? lines.map((line) => ({ ...line, text: line.text.replace(/\r$/, "") })) : lines;
}
