import type { Token, Tokens } from "marked";
import { createElement, memo, startTransition, useDeferredValue, useEffect, useState, type ReactNode } from "react";
import { grow, isOpenCode, noBlocks, type Blocks } from "./blocks";
import { CodeBlock } from "./CodeBlock";
import { Inline } from "./Inline";
import { endOf } from "./pieces";
import classes from "./Markdown.module.css";

/** So much is read and drawn at a time; a longer text in the background, piece by piece, so that opening it never blocks. */
const PIECE = { chars: 8_000, lines: 200 };
/** Finished blocks are drawn in groups of this many, so that a new token compares groups and not blocks. */
const GROUP = 24;

function Table({ token }: { token: Tokens.Table }) {
  const cell = (content: Tokens.TableCell, at: number) =>
    createElement(
      content.header ? "th" : "td",
      { key: at, ...(content.align && { style: { textAlign: content.align } }) },
      <Inline tokens={content.tokens} />,
    );
  return (
    <div className={classes.tableBox} tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>{token.header.map(cell)}</tr>
        </thead>
        <tbody>
          {token.rows.map((row, at) => (
            <tr key={at}>{row.map(cell)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function List({ token, isOpen }: { token: Tokens.List; isOpen: boolean }) {
  const items = token.items.map((item, at) => (
    <li key={at} className={item.task ? classes.task : undefined}>
      <BlockList tokens={item.tokens} isOpen={isOpen} />
    </li>
  ));
  return token.ordered ? <ol start={Number(token.start || 1)}>{items}</ol> : <ul>{items}</ul>;
}

function drawBlock(token: Token, isOpen: boolean): ReactNode {
  switch (token.type) {
    case "heading": {
      // The page's own headings, down to "Answer", come first in the outline; those of a text stand below them.
      const level = Math.min(6, Math.max(3, (token as Tokens.Heading).depth + 1));
      return createElement(`h${level}`, { "data-depth": token.depth }, <Inline tokens={token.tokens ?? []} />);
    }
    case "paragraph":
      return (
        <p>
          <Inline tokens={token.tokens ?? []} />
        </p>
      );
    case "code": {
      const { lang, text } = token as Tokens.Code;
      const language = (lang ?? "").split(/\s/)[0] ?? "";
      return <CodeBlock language={language} code={text} isOpen={isOpen && isOpenCode(token)} />;
    }
    case "list":
      return <List token={token as Tokens.List} isOpen={isOpen} />;
    case "table":
      return <Table token={token as Tokens.Table} />;
    case "blockquote":
      return (
        <blockquote>
          <BlockList tokens={token.tokens ?? []} isOpen={isOpen} />
        </blockquote>
      );
    case "hr":
      return <hr />;
    case "html":
      return <p className={classes.markup}>{token.raw.trim()}</p>;
    case "space":
    case "def":
      return null;
    default:
      return <Inline tokens={[token]} />;
  }
}

const Block = memo(
  ({ token, isOpen }: { token: Token; isOpen: boolean }) => <>{drawBlock(token, isOpen)}</>,
  (a, b) => a.isOpen === b.isOpen && a.token.type === b.token.type && a.token.raw === b.token.raw,
);

function BlockList({ tokens, isOpen }: { tokens: readonly Token[]; isOpen: boolean }) {
  return tokens.map((token, at) => <Block key={at} token={token} isOpen={isOpen} />);
}

interface GroupProps {
  tokens: readonly Token[];
  isOpen: boolean;
}

const Group = memo(
  ({ tokens, isOpen }: GroupProps) => <BlockList tokens={tokens} isOpen={isOpen} />,
  (a, b) =>
    a.isOpen === b.isOpen &&
    a.tokens.length === b.tokens.length &&
    a.tokens.every((token, at) => token === b.tokens[at]),
);

/** Cut all blocks into groups; a block stays where it is when it is finished, and so is never drawn anew. */
function groups({ finished, tail }: Blocks, isStreaming: boolean): GroupProps[] {
  const all = [...finished, ...tail];
  const cut: GroupProps[] = [];
  for (let at = 0; at < all.length; at += GROUP) {
    cut.push({ tokens: all.slice(at, at + GROUP), isOpen: isStreaming && at + GROUP > finished.length });
  }
  return cut;
}

/** Return as much of a text as is to be drawn now: a long one comes piece by piece. */
function useReadAhead(text: string): { shown: string; isWhole: boolean } {
  const [reach, setReach] = useState(() => endOf(text, 0, PIECE));
  const isWhole = reach >= text.length;
  const shown = useDeferredValue(isWhole ? text : text.slice(0, reach), isWhole ? text : "");
  const isDrawn = shown.length >= reach;
  useEffect(() => {
    if (isDrawn && !isWhole) startTransition(() => setReach(endOf(text, reach, PIECE)));
  }, [isDrawn, isWhole, reach, text]);
  return { shown, isWhole };
}

/** Text in Markdown, drawn from its tokens; markup inside it is shown, never obeyed. */
export const Markdown = memo(({ text, isStreaming }: { text: string; isStreaming: boolean }) => {
  const { shown, isWhole } = useReadAhead(text);
  const [last] = useState<{ blocks: Blocks }>({ blocks: noBlocks });
  // Reading is a pure function of the text; what was read before only saves work.
  last.blocks = grow(last.blocks, shown);
  return (
    <div className={classes.markdown}>
      {groups(last.blocks, isStreaming || !isWhole).map((group, at) => (
        <div key={at} className={classes.group}>
          <Group {...group} />
        </div>
      ))}
    </div>
  );
});
