import { expect, test } from "vitest";
import { endOf } from "../src/markdown/pieces";

const most = { chars: 20, lines: 3 };

test("a piece of prose ends after so many characters", () => {
  expect(endOf("x".repeat(50), 5, most)).toBe(25);
});

test("a piece of short lines ends after so many lines", () => {
  expect(endOf("a\nb\nc\nd\ne\n", 2, most)).toBe(8);
});

test("a piece goes beyond the end of what is left, so that what comes later belongs to it", () => {
  expect(endOf("a\nb", 0, most)).toBe(20);
});
