import { describe, expect, it } from "vitest";
import { drawnLines, parseDiff } from "../src/diff/parse";

const source = `--- a/notes.md
+++ b/notes.md
@@ -1,3 +1,4 @@ heading
 one
-two
+TWO
+and a half
 three
@@ -40 +41 @@
---- four
+++++ four
\\ No newline at end of file
`;

describe("a unified diff", () => {
  it("gives every line its numbers before and after", () => {
    const { lines } = parseDiff(source);
    const places = lines.filter(({ kind }) => kind !== "file" && kind !== "hunk").map(({ kind, before, now }) => [kind, before, now]);
    expect(places).toEqual([
      ["same", 1, 1],
      ["gone", 2, null],
      ["new", null, 2],
      ["new", null, 3],
      ["same", 3, 4],
      ["gone", 40, null],
      ["new", null, 41],
      ["note", null, null],
    ]);
  });

  it("counts what came and what went", () => {
    expect(parseDiff(source)).toMatchObject({ added: 3, removed: 2 });
  });

  it("never takes a line of a file for the name of a file", () => {
    const texts = parseDiff(source).lines.filter(({ kind }) => kind === "gone").map(({ text }) => text);
    expect(texts).toEqual(["two", "--- four"]);
    expect(parseDiff("@@ -1,2 +1 @@\n--- a/etc/passwd\n same\n").lines.map(({ kind }) => kind)).toEqual(["hunk", "gone", "same"]);
  });

  it("that was cut, or is none, is shown as far as it goes", () => {
    expect(parseDiff("@@ -1,90 +1,90 @@\n one\n… 120 lines left out\n").lines.map(({ kind }) => kind)).toEqual(["hunk", "same", "note"]);
    expect(parseDiff("Binary files differ").lines).toEqual([{ kind: "note", text: "Binary files differ", before: null, now: null }]);
    expect(parseDiff("").lines).toEqual([]);
  });

  it("shows a line end of another system only where it is a change", () => {
    expect(drawnLines(parseDiff("@@ -1 +1 @@\n-a\r\n+b\r\n")).map(({ text }) => text)).toEqual(["a", "b"]);
    expect(drawnLines(parseDiff("@@ -1 +1 @@\n-a\r\n+a\n")).map(({ text }) => text)).toEqual(["a\r", "a"]);
  });
});
