import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { SearchHit } from "../src/api/types";
import { Hit } from "../src/conversations/SearchHits";

const hit = (similar: boolean, more: Partial<SearchHit> = {}): SearchHit => ({
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
  ...more,
});

describe("a hit", () => {
  it("is marked where it only means about the same", () => {
    expect(renderToStaticMarkup(<Hit hit={hit(true)} />)).toContain(">similar</span>");
    expect(renderToStaticMarkup(<Hit hit={hit(false)} />)).not.toContain("similar");
  });

  it("is marked where it is off the chosen branch or hidden, and leads to its branch only then", () => {
    const away = renderToStaticMarkup(<Hit hit={hit(false, { branch: 2, offPath: true })} />);
    expect(away).toContain(">other branch</span>");
    expect(away).toContain("branch=2");
    const shared = renderToStaticMarkup(<Hit hit={hit(false, { hidden: true })} />);
    expect(shared).toContain(">hidden</span>");
    expect(shared).not.toContain("branch=");
  });
});
