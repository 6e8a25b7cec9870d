import classes from "./Dialogs.module.css";
import { visible } from "./visible";

/** Text with the signs that cannot be seen spelled out and marked; `prose` keeps line breaks and the like. */
export function Seen({ text, prose = false }: { text: string; prose?: boolean }) {
  return visible(text, prose).map((piece, at) =>
    piece.escaped ? <mark key={at}>{piece.text}</mark> : <span key={at}>{piece.text}</span>,
  );
}

/** A part of a command as it is, with nothing hidden in it. */
export function Plain({ text }: { text: string }) {
  return <code className={classes.plain}>{text === "" ? <mark>empty</mark> : <Seen text={text} />}</code>;
}
