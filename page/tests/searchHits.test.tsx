import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { SearchHit } from "../src/api/types";
import { Hit } from "../src/conversations/SearchHits";

const hit = (similar: boolean): SearchHit => ({
  conversationId: "c",
  itemId: "i",
  title: "Ships",
  kind: "response",
  snippet: "A vessel",
  ranges: [],
  at: 0,
  foundHere: 1,
  similar,
});

describe("a hit", () => {
  it("is marked where it only means about the same", () => {
    expect(renderToStaticMarkup(<Hit hit={hit(true)} />)).toContain(">similar</span>");
    expect(renderToStaticMarkup(<Hit hit={hit(false)} />)).not.toContain("similar");
  });
});
