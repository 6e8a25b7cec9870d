import { expect, it } from "vitest";
import { inputs, textOf, type Hostile } from "./expressionInputs";
import { isLinear } from "./expressionTree";
import { collect, type Use } from "./expressionUses";
import { growth } from "./growing";
import { sample } from "./sampling";

/** More than any text that the page reads as one. */
const LONGEST = 1024 * 1024;
/** Examples of those that are made at run time. */
const fence = "\\n[ \\t>]*(?:`{3}|~{3})";
const MADE: Record<string, readonly RegExp[]> = {
  "api/csrf.ts: new RegExp(`(?:^|; )pilothouse_${location.port}_seen=([\\\\w-]+)`)": [/(?:^|; )pilothouse_7420_seen=([\w-]+)/],
  "markdown/formulas.ts: new RegExp(fence)": [new RegExp(fence)],
  "markdown/formulas.ts: new RegExp(`${fence}|\\\\n[ \\\\t>]*\\\\n`)": [new RegExp(`${fence}|\\n[ \\t>]*\\n`)],
  "markdown/formulas.ts: new RegExp(`${fence}|\\\\n[ \\\\t>]*(?:\\\\n|[-*+#] |\\\\d+[.)] )`)": [
    new RegExp(`${fence}|\\n[ \\t>]*(?:\\n|[-*+#] |\\d+[.)] )`),
  ],
  'markdown/formulas.ts: new RegExp(`(\\\\\\\\end\\\\{${name.replace("*", "\\\\*")}\\\\})`, "g")': [/(\\end\{align\*\})/g],
  'markdown/formulas.ts: new RegExp(`\\\\n[ \\\\t>]*${signs[0] ?? ""}{${signs.length},}[ \\\\t]*(?=\\\\n|$)`, "g")': [
    /\n[ \t>]*`{3,}[ \t]*(?=\n|$)/g,
    /\n[ \t>]*~{40,}[ \t]*(?=\n|$)/g,
  ],
  "markdown/formulas.ts: new RegExp(`(?<!\\`)(${signs})(?!\\`)|\\\\n[ \\\\t]*\\\\n`)": [/(?<!`)(`)(?!`)|\n[ \t]*\n/],
};
/** Whatever a text of these is taken for: comments, strings, tags, links, lists and calls that nothing ends. */
const BY_HAND: readonly Hostile[] = [
  "/* ", '"\\"', '"', "'", "\\", "[", "[](", "![a](b", "<", "<!--", "`", "` ``", "*a ", "_a", "| - ", "- ", "a=", "a:", "${", "$",
  "&a", "\x1b[", "{", "\n", "\n ", "\n>", " ", "\t", "0", "1.", "a.", "a-", "/", "@", "é", "\ueb00é", "\ueb00|", "é|", "in /", " in ",
].flatMap((again) => ["", "\x00"].map((after) => ({ before: "", again, after })));

/** Return with which text an expression takes too long, and how long; empty if with none. */
function complaint(pattern: RegExp): string {
  if (isLinear(pattern)) return "";
  // All hits are looked for: whoever takes the first alone does less.
  const every = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, "") + "g");
  for (const hostile of [...inputs(pattern), ...BY_HAND]) {
    const words = growth((size) => {
      const text = textOf(hostile, size);
      return [...text.matchAll(every)].length;
    }, LONGEST);
    if (words) return `${JSON.stringify(hostile)}: ${words}`;
  }
  return "";
}

/** Found once: to parse all of the page takes longer than most of these tests. */
const USES = collect();
const expressionsOf = ({ place, pattern }: Use) => (pattern ? [pattern] : (MADE[place] ?? []));

it("no expression takes more than thrice as long for twice the text", () => {
  const slow: Record<string, string> = {};
  const all = USES.flatMap((use) => expressionsOf(use).map((pattern) => ({ place: use.place, pattern })));
  const repeating = all.filter((one) => !isLinear(one.pattern));
  expect(repeating.length).toBeGreaterThan(40);
  for (const { place, pattern } of sample(repeating, "expressions of the page")) {
    const words = complaint(pattern);
    if (words) slow[place] = words;
  }
  expect(slow).toEqual({});
  // A hang is what this is for: all of them take many times as long as a share.
}, 1_800_000);

it("every expression of the page is known", () => {
  expect(USES.length).toBeGreaterThan(80);
  expect(USES.filter((use) => !use.pattern && !MADE[use.place]).map((use) => use.place)).toEqual([]);
  const places = new Set(USES.map((use) => use.place));
  expect(Object.keys(MADE).filter((place) => !places.has(place))).toEqual([]);
});

it.each([/a+b/, /(a+)+b/, /^(a|aa)+$/, /\s*x?\s*y/, /"(?:\\.|[^"\\])*"/g, /\/\*[^]*?\*\//g, /\/+$/, /(?:[\p{L}-]+\.)+[\p{L}]{2,}/u])(
  "an expression that can be held up is found out: %s",
  (pattern) => expect(complaint(pattern)).not.toBe(""),
);
