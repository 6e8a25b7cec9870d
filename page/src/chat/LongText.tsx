import { Button } from "@mantine/core";
import { useState } from "react";
import { CopyButton } from "../shell/CopyButton";
import classes from "./Chat.module.css";
import { size } from "./words";

/** What is shown of a long text before someone asks for all of it. */
const SHOWN_CHARS = 4_000;
/** Text drawn as one piece; pieces out of sight cost nothing. */
const PIECE_CHARS = 20_000;

/** Cut a text into pieces, at the end of a line where there is one. */
export function cut(text: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += pieces[pieces.length - 1]?.length ?? 0) {
    const piece = text.slice(at, at + PIECE_CHARS);
    const lines = piece.lastIndexOf("\n") + 1;
    pieces.push(lines > 0 ? piece.slice(0, lines) : piece);
  }
  return pieces;
}

/** Text from elsewhere, as it is: its beginning, and all of it when asked for. */
export function LongText({ text, label, ...given }: { text: string; label: string; isWhole?: boolean }) {
  const [isWhole, setWhole] = useState(given.isWhole ?? false);
  const isLong = text.length > SHOWN_CHARS;
  const shown = isWhole || !isLong ? text : text.slice(0, SHOWN_CHARS);
  const pieces = cut(shown);
  return (
    <div className={classes.longText}>
      <div className="ph-label">
        <span>{label}</span>
        <CopyButton value={text} label={`Copy ${label.toLowerCase()}`} />
      </div>
      <pre className={`ph-code ${classes.raw}`} tabIndex={0} aria-label={label}>
        {pieces.map((piece, at) => (
          // One piece has no size to guess: what is out of sight is as high as it will be.
          <span key={at} className={pieces.length > 1 ? classes.rawPiece : undefined}>
            {piece}
          </span>
        ))}
      </pre>
      {isLong && (
        <Button size="compact-xs" variant="subtle" color="gray" onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : `Show all (${size(text.length)})`}
        </Button>
      )}
    </div>
  );
}
