import { Button } from "@mantine/core";
import { memo, useMemo, useState, type ReactNode } from "react";
import { visible } from "../servers/visible";
import { CopyButton } from "../shell/CopyButton";
import classes from "./Diff.module.css";
import { drawnLines, parseDiff, type DiffLine } from "./parse";

/** What is drawn of a long diff before someone asks for all of it. */
const SHOWN_LINES = 160;
/** Lines drawn as one piece; pieces out of sight cost nothing. */
const PIECE_LINES = 200;
/** Most files have fewer lines than this; two columns of that width stay calm. */
const DIGITS = 3;

const signs: Partial<Record<DiffLine["kind"], string>> = { same: " ", new: "+", gone: "-" };

function Line({ line, digits }: { line: DiffLine; digits: number }) {
  return (
    <div className={classes.line} data-kind={line.kind}>
      {/* Drawn by the stylesheet, so that a selection holds the diff and no numbers. */}
      <span className={classes.number} style={{ width: `${digits}ch` }} data-number={line.before ?? ""} />
      <span className={classes.number} style={{ width: `${digits}ch` }} data-number={line.now ?? ""} />
      <span className={classes.text}>
        {signs[line.kind]}
        {visible(line.text, true).map((piece, at) =>
          piece.escaped ? (
            <mark key={at} className={classes.unseen}>
              {piece.text}
            </mark>
          ) : (
            piece.text
          ),
        )}
      </span>
    </div>
  );
}

const Piece = memo(({ lines, digits, isLong }: { lines: readonly DiffLine[]; digits: number; isLong: boolean }) => (
  <div className={isLong ? classes.piece : undefined}>
    {lines.map((line, at) => (
      <Line key={at} line={line} digits={digits} />
    ))}
  </div>
));

function cut(lines: readonly DiffLine[]): (readonly DiffLine[])[] {
  const pieces: (readonly DiffLine[])[] = [];
  for (let at = 0; at < lines.length; at += PIECE_LINES) pieces.push(lines.slice(at, at + PIECE_LINES));
  return pieces;
}

/** How many lines came and went. */
export function Counts({ added, removed }: { added: number; removed: number }) {
  return (
    <span className={classes.counts} aria-label={`${added} added, ${removed} removed`} role="img">
      <span className={classes.added}>+{added}</span> <span className={classes.removed}>−{removed}</span>
    </span>
  );
}

interface DiffViewProps {
  /** A unified diff, as text. */
  diff: string;
  /** The file that it is about, or another name for it. */
  title: string;
  /** A word after the title: "created", "deleted". */
  remark?: string;
  /** Counted by who made the diff, where the diff itself was cut. */
  added?: number;
  removed?: number;
  /** How many lines are drawn before someone asks for all of them. */
  shownLines?: number;
  /** Whether it no longer stands. */
  isStruck?: boolean;
  /** Stands at the end of the line with the title. */
  aside?: ReactNode;
}

/** A unified diff, line by line, with what cannot be seen in it spelled out. Copying gives the diff exactly as it is. */
export function DiffView({ diff, title, remark, added, removed, shownLines = SHOWN_LINES, isStruck, aside }: DiffViewProps) {
  const [isWhole, setWhole] = useState(false);
  const parsed = useMemo(() => parseDiff(diff), [diff]);
  const lines = useMemo(() => drawnLines(parsed), [parsed]);
  const isLong = lines.length > shownLines;
  const shown = isWhole || !isLong ? lines : lines.slice(0, shownLines);
  const pieces = cut(shown);
  const digits = lines.reduce((most, { before, now }) => Math.max(most, String(before ?? now ?? 0).length), DIGITS);
  return (
    <div className={classes.diff}>
      <div className={classes.head}>
        <span className={classes.title}>
          <span className={isStruck ? classes.struck : undefined}>{title}</span>
          {remark && <span className={classes.remark}>{remark}</span>}
        </span>
        <Counts added={added ?? parsed.added} removed={removed ?? parsed.removed} />
        <CopyButton value={diff} label={`Copy the diff of ${title}`} />
        {aside}
      </div>
      {lines.length > 0 && (
        <div className={`ph-code ${classes.lines}`} tabIndex={0} role="group" aria-label={`Changes of ${title}`}>
          {pieces.map((piece, at) => (
            <Piece key={at} lines={piece} digits={digits} isLong={pieces.length > 1} />
          ))}
        </div>
      )}
      {isLong && (
        <Button size="compact-xs" variant="subtle" color="gray" onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : `Show all (${lines.length} lines)`}
        </Button>
      )}
    </div>
  );
}
