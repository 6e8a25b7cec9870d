import type { Token } from "marked";

/*
 * Formulas are shown as they are written. Before a text is read as Markdown their signs are moved to a range that
 * Markdown has no use for, one for one, so that every place in the text stays the same; what was read is moved back.
 */

/** No formula is longer than this; an opening sign that is not answered by then is just a sign. */
const MOST_CHARS = 4_000;
/** A text with more opening signs than this that nothing answers has no formulas worth looking for. */
const MOST_UNANSWERED = 100;
const SHIFT = 0xeb00;
const hiddenSign = /[\ueb00-\ueb7f]/;
const hiddenSigns = /[\ueb00-\ueb7f]+/g;
/** A formula as it comes back: letters of other scripts and bars stayed as they were. */
const hiddenRun = /[\ueb00-\ueb7f](?:[\ueb00-\ueb7f|\u0080-\uffff]*[\ueb00-\ueb7f])?/g;

const moved = (text: string, by: number) => Array.from(text, (sign) => String.fromCharCode(sign.charCodeAt(0) + by)).join("");

/** A bar parts the cells of a table, inside a formula too, unless it is escaped. */
const hide = (formula: string) => formula.replace(/(?:\\\||[\x00-\x7b\x7d-\x7f])+/g, (signs) => moved(signs, SHIFT));
const show = (text: string) => text.replace(hiddenSigns, (signs) => moved(signs, -SHIFT));

const fence = "\\n[ \\t>]*(?:`{3}|~{3})";
/** What ends the search for the closing sign: of a formula with lines of its own, of one that begins a line, of one in a line. */
const ends = {
  lines: new RegExp(fence),
  line: new RegExp(`${fence}|\\n[ \\t>]*\\n`),
  inside: new RegExp(`${fence}|\\n[ \\t>]*(?:\\n|[-*+#] |\\d+[.)] )`),
};

/** Where a formula ends; null: nowhere; "open": the text may still bring its end. */
type End = number | "open" | null;

function search(text: string, from: number, closing: RegExp, end: RegExp): End {
  const near = text.slice(from, from + MOST_CHARS);
  for (const { 0: signs, 1: closes, index } of near.matchAll(closing)) {
    // Other escapes are stepped over, so that what follows a second backslash closes nothing.
    if (closes !== undefined) return end.test(near.slice(0, index)) ? null : from + index + signs.length;
  }
  return near.length < MOST_CHARS && !end.test(near) ? "open" : null;
}

const round = /\\(?:(\))|[^])/g;
const square = /\\(?:(\](?!\())|[^])/g;
const dollars = /\\[^]|(\$\$)/g;

const beginsLine = (text: string, at: number) => /(?:^|\n)[ \t>]*$/.test(text.slice(Math.max(0, at - 40), at));
const endsLine = (text: string, at: number) => /^[ \t]*\n/.test(text.slice(at, at + 40));

function display(text: string, at: number, closing: RegExp, mustBegin: boolean): End {
  const begins = beginsLine(text, at);
  const hasLines = endsLine(text, at + 2) && (begins || !mustBegin);
  return search(text, at + 2, closing, hasLines ? ends.lines : begins ? ends.line : ends.inside);
}

/** A dollar opens a formula beside a sign, and closes it beside a sign; sums of money do neither. */
function dollar(text: string, at: number): End {
  if (/[\p{L}\p{N}$]/u.test(text[at - 1] ?? "")) return null;
  const found = /^\$((?:\\.|[^\\$\n])+)\$(?![\p{L}\p{N}$])/u.exec(text.slice(at, at + MOST_CHARS));
  const formula = found?.[1] ?? " ";
  if (/^\s|\s$/.test(formula)) return null;
  if (/^\d/.test(formula) && /\s/.test(formula) && !/[\\^_={]/.test(formula)) return null;
  return at + (found?.[0].length ?? 0);
}

function environment(text: string, at: number): End {
  const name = /^\\begin\{([a-zA-Z]{1,20}\*?)\}/.exec(text.slice(at, at + 40))?.[1];
  if (!name || !beginsLine(text, at)) return null;
  return search(text, at + 7, new RegExp(`(\\\\end\\{${name.replace("*", "\\*")}\\})`, "g"), ends.lines);
}

function formulaAt(text: string, at: number): End {
  switch (text.slice(at, at + 2)) {
    case "\\(":
      return search(text, at + 2, round, ends.inside);
    case "\\[":
      return display(text, at, square, false);
    case "\\b":
      return environment(text, at);
    case "$$":
      return display(text, at, dollars, true);
    default:
      return text[at] === "$" ? dollar(text, at) : null;
  }
}

/** Return where code that begins here ends: a block at its closing fence, a span at its closing signs. */
function codeEnd(text: string, at: number, signs: string): number {
  if (signs.length >= 3 && beginsLine(text, at)) {
    const closing = new RegExp(`\\n[ \\t>]*${signs[0] ?? ""}{${signs.length},}[ \\t]*(?=\\n|$)`, "g");
    closing.lastIndex = at;
    return closing.exec(text) ? closing.lastIndex : text.length;
  }
  if (signs[0] === "~") return at + signs.length;
  const rest = text.slice(at + signs.length, at + MOST_CHARS);
  // Whichever comes first: the signs again, or the end of the paragraph.
  const closing = new RegExp(`(?<!\`)(${signs})(?!\`)|\\n[ \\t]*\\n`).exec(rest);
  return at + signs.length + (closing?.[1] ? closing.index + signs.length : 0);
}

/** A text whose formulas are out of Markdown's reach. */
export interface Hidden {
  text: string;
  /** Where a formula began whose end may still come; the length of the text when none did. */
  open: number;
}

/** Put the formulas of a text out of Markdown's reach; those in code are code. */
export function hideFormulas(text: string): Hidden {
  // Someone's own signs of that range could not be told from ours.
  if (!/[\\$]/.test(text) || hiddenSign.test(text)) return { text, open: text.length };
  const parts: string[] = [];
  const stop = /`+|~{3,}|\\[^]|\$\$?/g;
  let [open, done, unanswered] = [text.length, 0, 0];
  for (let found = stop.exec(text); found && unanswered < MOST_UNANSWERED; found = stop.exec(text)) {
    const at = found.index;
    if (found[0][0] === "`" || found[0][0] === "~") {
      stop.lastIndex = codeEnd(text, at, found[0]);
      if (stop.lastIndex === at + found[0].length) unanswered += 1;
      continue;
    }
    const end = formulaAt(text, at);
    if (end === "open") open = Math.min(open, at);
    if (typeof end !== "number") {
      if (/^\\[([b]|^\$\$/.test(found[0])) unanswered += 1;
      continue;
    }
    parts.push(text.slice(done, at), hide(text.slice(at, end)));
    done = stop.lastIndex = end;
  }
  return { text: parts.length ? parts.join("") + text.slice(done) : text, open };
}

/** Return a formula of several lines without what stands before all but its first: the place in a list or quotation. */
function dedent(formula: string): string {
  const [, ...lines] = formula.split("\n");
  const written = lines.filter((line) => line.trim());
  let before = /^[ \t>]*/.exec(written[0] ?? "")?.[0] ?? "";
  for (const line of written) while (!line.startsWith(before)) before = before.slice(0, -1);
  return before ? formula.split(`\n${before}`).join("\n") : formula;
}

function pieces(text: string): Token[] {
  const tokens: Token[] = [];
  let done = 0;
  const plain = (raw: string) => raw && tokens.push({ type: "text", raw, text: raw });
  for (const { 0: run, index } of text.matchAll(hiddenRun)) {
    plain(text.slice(done, index));
    tokens.push({ type: "formula", raw: show(run), text: dedent(show(run)) });
    done = index + run.length;
  }
  plain(text.slice(done));
  return tokens;
}

/** Move the signs of formulas back, in whatever was read of them. */
export function showFormulas(token: object): void {
  const node = token as Record<string, unknown>;
  if (node.type === "text" && !node.tokens && typeof node.text === "string" && hiddenSign.test(node.text)) {
    node.tokens = pieces(node.text);
  }
  for (const [name, value] of Object.entries(node)) {
    // An address has escapes of its own, which are no formula.
    if (typeof value === "string" && hiddenSign.test(value)) {
      node[name] = name === "href" ? show(value).replace(/\\([()[\]])/g, "$1") : show(value);
    } else if (typeof value === "object" && value !== null) showFormulas(value);
  }
}
