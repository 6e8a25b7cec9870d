import { describe, expect, it } from "vitest";
import { recalled } from "../src/memory/words";

describe("a memory", () => {
  it("says in words how often it was recalled", () => {
    expect(recalled({ uses: 1 })).toBe("recalled once");
    expect(recalled({ uses: 12 })).toBe("recalled 12 times");
  });
});
