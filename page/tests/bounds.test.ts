import { describe, expect, it } from "vitest";
import { cut } from "../src/chat/LongText";
import { grow, noBlocks } from "../src/markdown/blocks";
import { textOf } from "./expressionInputs";
import { milliseconds } from "./growing";

interface Nested {
  tokens?: Nested[];
  items?: Nested[];
}

const depth = (tokens: readonly Nested[]): number =>
  tokens.reduce((deepest, token) => Math.max(deepest, 1 + depth(token.tokens ?? token.items ?? [])), 0);

describe("nesting", () => {
  it("is cut at a depth that can be drawn", () => {
    for (const text of ["> ".repeat(500) + "deep", "- ".repeat(300) + "deep", "*a **b ".repeat(400) + "**b* ".repeat(400)]) {
      const { finished, tail } = grow(noBlocks, text);
      expect(depth([...finished, ...tail] as readonly Nested[])).toBeLessThan(40);
    }
  });

  it("beyond it leaves the text as it is", () => {
    const text = "> ".repeat(20_000) + "deep";
    let [inner] = grow(noBlocks, text).tail as readonly (Nested & { type: string; text: string })[];
    while (inner?.type === "blockquote") inner = inner.tokens?.[0] as typeof inner;
    expect(inner).toMatchObject({ type: "paragraph", text: "> ".repeat(20_000 - 12) + "deep" });
  });

  it("that people write is kept", () => {
    const { tail } = grow(noBlocks, "> quoted\n> > twice\n> > - a point\n> >   - another");
    expect(depth(tail as readonly Nested[])).toBeGreaterThan(5);
  });
});

describe("reading Markdown", () => {
  it.each([
    "> ", "> - ", "> a\nb\n", "> - a\nb\n", "a\n-\n", "- a\n", "_".repeat(7_900) + "\n\n", "![", "`a`", "$",
  ])("takes at most eight times as long for four times as much of %j", (again) => {
    const [less, more] = [16_000, 64_000].map((size) => textOf({ before: "", again, after: "" }, size));
    const quarter = milliseconds(() => grow(noBlocks, less ?? ""));
    const whole = () => milliseconds(() => grow(noBlocks, more ?? ""));
    // What is too short says nothing; what other work was in the way of is looked at again.
    expect(Math.min(whole(), whole())).toBeLessThan(8 * Math.max(quarter, 15));
  });

  it("keeps a table, a quotation and a paragraph that are long but honest", () => {
    const rows = "| a | b |\n".repeat(1_000);
    expect(grow(noBlocks, `| x | y |\n|---|---|\n${rows}`).tail).toMatchObject([{ type: "table", rows: { length: 1_000 } }]);
    const quoted = grow(noBlocks, "> a line of some words\n".repeat(600));
    expect([...quoted.finished, ...quoted.tail].map(({ type }) => type)).toEqual(["blockquote", "blockquote"]);
    expect(grow(noBlocks, "some words and *more* ".repeat(300)).tail).toMatchObject([{ type: "paragraph", tokens: { length: 601 } }]);
  });

  it("shows a table that is far too long to its bound, and the rest as it is written", () => {
    const { finished, tail } = grow(noBlocks, `| x | y |\n|---|---|\n${"| a | b |\n".repeat(4_000)}`);
    const all = [...finished, ...tail];
    expect(all.map(({ type }) => type)).toEqual(["table", "paragraph"]);
    expect(all.map(({ raw }) => raw).join("\n").match(/\| a \| b \|/g)).toHaveLength(4_000);
  });
});

describe("long text", () => {
  it("is cut at the ends of lines, and nothing is lost", () => {
    const lines = Array.from({ length: 9_000 }, (_, at) => `line ${at}`).join("\n");
    const pieces = cut(lines);
    expect(pieces.length).toBeGreaterThan(3);
    expect(pieces.join("")).toBe(lines);
    expect(pieces.slice(0, -1).every((piece) => piece.endsWith("\n"))).toBe(true);
  });

  it("without lines is cut anyway", () => {
    const text = "x".repeat(50_001);
    expect(cut(text).map((piece) => piece.length)).toEqual([20_000, 20_000, 10_001]);
  });
});
