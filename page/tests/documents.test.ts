import { describe, expect, it } from "vitest";
import { aboutDocument, citedPlace, isLongPaste, pageName } from "../src/documents/documents";

describe("a citation", () => {
  it("names a document, a page and a line", () => {
    expect(citedPlace("doc:1a2b3c4d#p12l3")).toEqual({ id: "1a2b3c4d", page: 12, line: 3 });
    expect(citedPlace("doc:1a2b3c4d#l3")).toEqual({ id: "1a2b3c4d", page: 0, line: 3 });
    expect(citedPlace("doc:d_01a1e9aa4fb428c9ea5e3e46f3")).toEqual({ id: "d_01a1e9aa4fb428c9ea5e3e46f3", page: 0, line: 0 });
  });

  it("is nothing else", () => {
    for (const other of ["https://example.com", "doc:", "doc:../../etc", "doc:1a2b3c4d#x", "doc:1a2b3c4d?x#p1l1", "javascript:doc:1a2b3c4d"])
      expect(citedPlace(other)).toBeNull();
  });
});

describe("a document", () => {
  it("is told in a line", () => {
    expect(aboutDocument({ kind: "pdf", pages: 12, bytes: 348_160 })).toBe("PDF · 12 pages · 340 KB");
    expect(aboutDocument({ kind: "slides", pages: 1, bytes: 10 })).toBe("PowerPoint · 1 slide · 10 bytes");
    expect(aboutDocument({ kind: "text", pages: 0, bytes: 10 })).toBe("Text · 10 bytes");
    expect(pageName("sheet", 2)).toBe("Sheet 2");
  });
});

describe("a paste", () => {
  it("is long by its characters or its lines", () => {
    expect(isLongPaste("x".repeat(4_000))).toBe(false);
    expect(isLongPaste("x".repeat(4_001))).toBe(true);
    expect(isLongPaste("x\n".repeat(59))).toBe(false);
    expect(isLongPaste("x\n".repeat(61))).toBe(true);
  });
});
