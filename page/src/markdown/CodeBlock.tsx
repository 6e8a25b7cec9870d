import { memo, startTransition, useEffect, useMemo, useRef, useState } from "react";
import { CopyButton } from "../shell/CopyButton";
import { highlight, isWorthColouring, type Span } from "./highlight";
import classes from "./Markdown.module.css";

/** Lines drawn as one piece: a growing block lays out only its last piece again. */
const PIECE_LINES = 60;

/** Pieces that may change their colours in one frame; all at once would hold up the page. */
const PIECES_PER_FRAME = 3;

/** Cut coloured spans into pieces of whole lines. */
export function pieces(spans: readonly Span[]): Span[][] {
  const cut: Span[][] = [[]];
  let lines = 0;
  for (const [className, text] of spans) {
    for (const part of text.split(/(?<=\n)/)) {
      if (lines >= PIECE_LINES) {
        cut.push([]);
        lines = 0;
      }
      add(cut[cut.length - 1] ?? [], className, part);
      if (part.endsWith("\n")) lines += 1;
    }
  }
  return cut;
}

function add(piece: Span[], className: string, text: string): void {
  const last = piece[piece.length - 1];
  if (last?.[0] === className) piece[piece.length - 1] = [className, last[1] + text];
  else piece.push([className, text]);
}

const plain = (piece: readonly Span[]): Span[] => [["", piece.map(([, text]) => text).join("")]];

const sameSpans = (a: readonly Span[], b: readonly Span[]) =>
  a.length === b.length && a.every((span, at) => span[0] === b[at]?.[0] && span[1] === b[at]?.[1]);

const Piece = memo(
  ({ spans }: { spans: readonly Span[] }) => (
    <span className={classes.piece}>
      {spans.map(([className, text], at) =>
        className ? (
          <span key={at} className={className}>
            {text}
          </span>
        ) : (
          text
        ),
      )}
    </span>
  ),
  (a, b) => sameSpans(a.spans, b.spans),
);

/** Return the code's colours as far as they are known; the rest is plain until the next answer. */
function useSpans(language: string, code: string, isOpen: boolean): readonly Span[] {
  const [known, setKnown] = useState<{ code: string; spans: readonly Span[] } | null>(null);
  const busy = useRef(false);
  const wanted = isWorthColouring(language, code, isOpen) && known?.code !== code;
  useEffect(() => {
    if (!wanted || busy.current) return;
    busy.current = true;
    void highlight(language, code).then((spans) => {
      busy.current = false;
      startTransition(() => setKnown({ code, spans: spans ?? [["", code]] }));
    });
  }, [wanted, language, code, known]);
  return useMemo(() => {
    if (!known || !code.startsWith(known.code)) return [["", code]];
    return known.code === code ? known.spans : [...known.spans, ["", code.slice(known.code.length)]];
  }, [known, code]);
}

/** Return the pieces to draw: the first ones in colour, some more each frame. */
function usePieces(spans: readonly Span[]): Span[][] {
  const [inColour, setInColour] = useState(PIECES_PER_FRAME);
  const all = useMemo(() => pieces(spans), [spans]);
  const hasMore = inColour < all.length && all.slice(inColour).some((piece) => piece.length > 1);
  useEffect(() => {
    if (!hasMore) return;
    const frame = requestAnimationFrame(() => startTransition(() => setInColour(inColour + PIECES_PER_FRAME)));
    return () => cancelAnimationFrame(frame);
  }, [hasMore, inColour]);
  return all.map((piece, at) => (at < inColour ? piece : plain(piece)));
}

interface CodeBlockProps {
  language: string;
  code: string;
  isOpen: boolean;
}

/** A block of code with its language and a button that copies exactly what is shown. */
export function CodeBlock({ language, code, isOpen }: CodeBlockProps) {
  const drawn = usePieces(useSpans(language, code, isOpen));
  return (
    <figure className={classes.code}>
      <figcaption className={classes.codeHead} data-quiet>
        <span>{language || "text"}</span>
        <CopyButton value={code} label="Copy code" />
      </figcaption>
      <pre className={classes.pre} tabIndex={0} aria-label={language ? `Code, ${language}` : "Code"}>
        <code>
          {drawn.map((piece, at) => (
            <Piece key={at} spans={piece} />
          ))}
        </code>
      </pre>
    </figure>
  );
}
