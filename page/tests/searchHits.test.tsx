import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { SearchHit } from "../src/api/types";
import { Hit, isElsewhere } from "../src/conversations/SearchHits";
import type { ConversationState } from "../src/store/conversation";
import { anItem, aState } from "./records";

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
  position: 0,
  hidden: false,
  ...more,
});

describe("a hit", () => {
  it("is marked where it only means about the same", () => {
    expect(renderToStaticMarkup(<Hit hit={hit(true)} isOther={false} />)).toContain(">similar</span>");
    expect(renderToStaticMarkup(<Hit hit={hit(false)} isOther={false} />)).not.toContain("similar");
  });

  it("is marked where it is in another branch or hidden, and leads to its branch only then", () => {
    const away = renderToStaticMarkup(<Hit hit={hit(false, { branch: 2 })} isOther />);
    expect(away).toContain(">other branch</span>");
    expect(away).toContain("branch=2");
    const shared = renderToStaticMarkup(<Hit hit={hit(false, { hidden: true, offPath: true })} isOther={false} />);
    expect(shared).toContain(">hidden</span>");
    expect(shared).not.toContain("branch=");
  });

  it("of the open conversation is elsewhere where it is not on the path that this tab shows, whatever was chosen last", () => {
    const fork = { number: 1, parent: 0, before: 3, insteadOf: "r_2", kind: "edit" as const, itemId: "m", runId: "r", repeats: null, createdAt: 0 };
    const shows = (branch: number, hasEarlier: boolean): ConversationState => {
      const open = aState([anItem({ id: "here", position: 9, branch })]);
      return { ...open, conversation: { ...open.conversation, branches: 1 }, branch, hasEarlier, branches: new Map([[1, fork]]) };
    };
    const found = (fields: Partial<SearchHit>) => hit(false, { conversationId: shows(0, true).conversation.id, ...fields });
    const [shared, left, own] = [found({ position: 2 }), found({ position: 3 }), found({ branch: 1, position: 5, offPath: true })];
    expect([shared, left, own].map((each) => isElsewhere(each, shows(1, true)))).toEqual([false, true, false]);
    expect([shared, left, own].map((each) => isElsewhere(each, shows(0, true)))).toEqual([false, false, true]);
    // Where all of the path is here, what is not here is elsewhere; what is here is not, however late it came.
    expect(isElsewhere(shared, shows(1, false))).toBe(true);
    expect(isElsewhere(found({ itemId: "here", branch: 0, position: 9 }), shows(1, true))).toBe(false);
    // Of others, the server says it.
    expect([isElsewhere(own, null), isElsewhere(left, null)]).toEqual([true, false]);
  });
});
