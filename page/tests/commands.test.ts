import { describe, expect, it } from "vitest";
import { summedUp } from "../src/chat/words";
import { begunBy, wishIn } from "../src/composer/commands";

describe("a wish for a summary", () => {
  it("is the command alone, or with words about what to keep", () => {
    expect(wishIn("/compact")).toBe("");
    expect(wishIn("  /compact  the ports\nand names ")).toBe("the ports\nand names");
  });

  it("is nothing that only looks like it", () => {
    for (const text of ["/compactor", "say /compact", "compact", "/etc/hosts", ""]) expect(wishIn(text)).toBeNull();
  });

  it("is offered while its name is typed", () => {
    expect(begunBy("/").map(({ name }) => name)).toEqual(["/compact"]);
    expect(begunBy("/com")).toHaveLength(1);
    for (const text of ["", "/compact ", "/etc", "a/"]) expect(begunBy(text)).toEqual([]);
  });
});

describe("a summary", () => {
  it("says in a line what it stands for and how long it is", () => {
    const text = "one two";
    expect(summedUp({ text, data: { messages: 1212, calls: 1, noted: "three" } })).toBe(
      "Older turns summed up: 1,212 messages and 1 call → 3 words",
    );
    expect(summedUp({ text: "one", data: { messages: 1 } })).toBe("Older turns summed up: 1 message → 1 word");
    // One of an earlier version.
    expect(summedUp({ text, data: {} })).toBe("Older turns summed up in 2 words");
  });
});
