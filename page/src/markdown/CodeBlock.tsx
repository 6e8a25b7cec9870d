import { memo, startTransition, useEffect, useRef, useState } from "react";
import { CopyButton } from "../shell/CopyButton";
import { highlight, isWorthColouring, type Span } from "./highlight";
import classes from "./Markdown.module.css";

/** Lines drawn as one piece: a growing block lays out only its last piece again. */
const PIECE_LINES = 60;

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
      cut[cut.length - 1]?.push([className, part]);
      if (part.endsWith("\n")) lines += 1;
    }
  }
  return cut;
}

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
  if (!known || !code.startsWith(known.code)) return [["", code]];
  return known.code === code ? known.spans : [...known.spans, ["", code.slice(known.code.length)]];
}

interface CodeBlockProps {
  language: string;
  code: string;
  isOpen: boolean;
}

/** A block of code with its language and a button that copies exactly what is shown. */
export function CodeBlock({ language, code, isOpen }: CodeBlockProps) {
  const spans = useSpans(language, code, isOpen);
  return (
    <figure className={classes.code}>
      <figcaption className={classes.codeHead}>
        <span>{language || "text"}</span>
        <CopyButton value={code} label="Copy code" />
      </figcaption>
      <pre className={classes.pre} tabIndex={0} aria-label={language ? `Code, ${language}` : "Code"}>
        <code>
          {pieces(spans).map((piece, at) => (
            <Piece key={at} spans={piece} />
          ))}
        </code>
      </pre>
    </figure>
  );
}
