import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { SearchHit } from "../src/api/types";
import { Hit } from "../src/conversations/SearchHits";

const hit = (similar: boolean, fields: Partial<SearchHit> = {}): SearchHit => ({
  conversationId: "c",
  itemId: "i",
  title: "Ships",
  kind: "response",
  snippet: "A vessel",
  ranges: [],
  at: 0,
  foundHere: 1,
  similar,
  branch: 0,
  offPath: false,
  hidden: false,
  ...fields,
});

describe("a hit", () => {
  it("is marked where it only means about the same", () => {
    expect(renderToStaticMarkup(<Hit hit={hit(true)} />)).toContain(">similar</span>");
    expect(renderToStaticMarkup(<Hit hit={hit(false)} />)).not.toContain("similar");
  });

  it("in another branch says so, and leads there", () => {
    const elsewhere = renderToStaticMarkup(<Hit hit={hit(false, { branch: 3, offPath: true })} />);
    expect(elsewhere).toContain(">other branch</span>");
    expect(elsewhere).toContain("/c/c?item=i&amp;branch=3");
    expect(renderToStaticMarkup(<Hit hit={hit(false)} />)).not.toContain("other branch");
  });
});
