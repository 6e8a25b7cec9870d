import { Fragment } from "react";
import { withLinks } from "./links";

/** A sentence of ours as it is meant: what stands between backticks is to be typed, a place of the page is a link. */
export function Said({ text }: { text: string }) {
  const pieces = text.split("`");
  // Words of others may have a single one.
  if (pieces.length % 2 === 0) return withLinks(text);
  return pieces.map((piece, at) => (at % 2 ? <code key={at}>{piece}</code> : <Fragment key={at}>{withLinks(piece)}</Fragment>));
}
