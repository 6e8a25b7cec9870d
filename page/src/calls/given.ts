import { visible, type Piece } from "../servers/visible";

/** Indentation that code may have; more of it could push something out of sight. */
const INDENTED = /^[ \t]{1,40}(?=\S)/;

function line(text: string): Piece[] {
  const indent = INDENTED.exec(text)?.[0] ?? "";
  const rest = visible(text.slice(indent.length));
  return indent ? [{ text: indent, escaped: false }, ...rest] : rest;
}

/** Return a value of an argument line by line, with everything in it that could not be seen spelled out. */
export function spelledOut(value: unknown): Piece[][] {
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
  return text.split("\n").map(line);
}
