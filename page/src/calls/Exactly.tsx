import { Fragment } from "react";
import classes from "./Calls.module.css";
import { spelledOut } from "./given";

/** A text line by line, with everything in it that could not be seen spelled out and marked. */
export function Exactly({ value }: { value: unknown }) {
  const lines = spelledOut(value);
  return lines.map((pieces, at) => (
    <Fragment key={at}>
      {pieces.map((piece, index) =>
        piece.escaped ? (
          <mark key={index} className={classes.unseen}>
            {piece.text}
          </mark>
        ) : (
          piece.text
        ),
      )}
      {at < lines.length - 1 && "\n"}
    </Fragment>
  ));
}
