import { describe, expect, it } from "vitest";
import { cut } from "../src/chat/LongText";
import { grow, noBlocks } from "../src/markdown/blocks";

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

  it("that exhausts the stack leaves the text as it is", () => {
    const text = "> ".repeat(20_000) + "deep";
    expect(grow(noBlocks, text).tail).toMatchObject([{ type: "paragraph", raw: text }]);
  });

  it("that people write is kept", () => {
    const { tail } = grow(noBlocks, "> quoted\n> > twice\n> > - a point\n> >   - another");
    expect(depth(tail as readonly Nested[])).toBeGreaterThan(5);
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
