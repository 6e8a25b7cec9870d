import { size } from "../chat/words";
import type { AttachedDocument, Document } from "../api/types";

/** What a card shows of a document: of one that waits in the box, and of one that was sent. */
export type Shown = Pick<Document | AttachedDocument, "id" | "name" | "kind" | "bytes" | "pages" | "characters" | "preview" | "note">;

const kinds: Record<Shown["kind"], string> = {
  pdf: "PDF",
  word: "Word",
  slides: "PowerPoint",
  sheet: "Excel",
  html: "HTML",
  markdown: "Markdown",
  text: "Text",
  csv: "CSV",
  code: "Code",
};

/** What a page of each kind is called. */
const pageNames: Partial<Record<Shown["kind"], string>> = { slides: "slide", sheet: "sheet" };

/** Return what a page of a document is called: "Page 3", "Slide 3". */
export function pageName(kind: Shown["kind"], page: number): string {
  const name = pageNames[kind] ?? "page";
  return `${name[0]?.toUpperCase()}${name.slice(1)} ${page}`;
}

/** Return what a document is, in a line: "PDF · 12 pages · 340 KB". */
export function aboutDocument({ kind, pages, bytes }: Pick<Shown, "kind" | "pages" | "bytes">): string {
  const name = pageNames[kind] ?? "page";
  const counted = pages ? [`${pages.toLocaleString("en")} ${name}${pages === 1 ? "" : "s"}`] : [];
  return [kinds[kind], ...counted, size(bytes)].join(" · ");
}

export interface DocumentPlace {
  /** The id of a document, or the end of one. */
  id: string;
  page: number;
  line: number;
}

/** Return the place that a citation of a model names, `doc:1a2b3c4d#p12l3`; null for every other link. */
export function citedPlace(target: string): DocumentPlace | null {
  const found = /^doc:([0-9a-z_]{8,40})(?:#(?:p([0-9]{1,6}))?(?:l([0-9]{1,8}))?)?$/.exec(target);
  return found ? { id: found[1] ?? "", page: Number(found[2] ?? 0), line: Number(found[3] ?? 0) } : null;
}

/** A text that is longer than this becomes a card when it is pasted. */
const LONG_PASTE = { chars: 4_000, lines: 60 };

/** Tell whether a pasted text is better kept as a document than in the box. */
export const isLongPaste = (text: string) => text.length > LONG_PASTE.chars || text.split("\n", LONG_PASTE.lines + 1).length > LONG_PASTE.lines;

/** What a pasted text is called as a document. */
export const PASTED = "Pasted text.txt";
