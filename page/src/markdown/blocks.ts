import { Lexer, type Token, type Tokens, type TokensList } from "marked";

/** A text split into blocks: the finished ones never change, the tail is read again as it grows. */
export interface Blocks {
  text: string;
  finished: readonly Token[];
  tail: readonly Token[];
  /** Where the tail begins in the text. */
  tailStart: number;
  links: TokensList["links"];
}

/** Emphasis and links are looked for in no longer run of text than this; beyond it the text stays plain. */
const INLINE_LIMIT = 20_000;
/** A list longer than this is cut, so that its finished points are not read again and again. */
const LIST_LIMIT = 24;

export const noBlocks: Blocks = { text: "", finished: [], tail: [], tailStart: 0, links: {} };

function read(source: string, links: TokensList["links"]): TokensList {
  const lexer = new Lexer({ gfm: true });
  Object.assign(lexer.tokens.links, links);
  lexer.blockTokens(source, lexer.tokens);
  for (const { src, tokens } of lexer.inlineQueue) {
    if (src.length <= INLINE_LIMIT) lexer.inlineTokens(src, tokens);
    else tokens.push({ type: "text", raw: src, text: src });
  }
  return lexer.tokens;
}

/** Cut a long list before its last point: that one may go on, the others are finished. */
function cutList(tokens: Token[]): { done: Token[]; rest: Token[] } | null {
  const list = tokens[0] as Tokens.List | undefined;
  if (list?.type !== "list" || list.items.length <= LIST_LIMIT) return null;
  const items = list.items.slice(0, -1);
  const last = list.items[list.items.length - 1] as Tokens.ListItem;
  const start = list.ordered ? Number(list.start || 1) + items.length : list.start;
  const done = { ...list, items, raw: items.map((item) => item.raw).join("") };
  return { done: [done], rest: [{ ...list, items: [last], raw: last.raw, start }, ...tokens.slice(1)] };
}

/** Return how many tokens are finished: all before the last one that is not just space. */
function finishedCount(tokens: readonly Token[]): number {
  return Math.max(0, tokens.findLastIndex((token) => token.type !== "space"));
}

const rawLength = (tokens: readonly Token[]) => tokens.reduce((sum, token) => sum + token.raw.length, 0);

/** Return the blocks of a text that has grown from the one before; only its tail is read. */
export function grow(before: Blocks, grown: string): Blocks {
  const text = grown.includes("\r") ? grown.replace(/\r\n?/g, "\n") : grown;
  if (text === before.text) return before;
  const base = text.startsWith(before.text) ? before : noBlocks;
  const tokens = read(text.slice(base.tailStart), base.links);
  const links = tokens.links;
  const count = finishedCount(tokens);
  let done: Token[] = tokens.slice(0, count);
  let rest: Token[] = tokens.slice(count);
  const cut = cutList(rest);
  if (cut) {
    done = [...done, ...cut.done];
    rest = cut.rest;
  }
  const finished = done.length ? [...base.finished, ...done.filter((token) => token.type !== "space")] : base.finished;
  const tail = rest.filter((token) => token.type !== "space");
  return { text, finished, tail, tailStart: base.tailStart + rawLength(done), links };
}

/** Tell whether a code block's closing fence has not come yet. */
export function isOpenCode(token: Token): boolean {
  if (token.type !== "code") return false;
  const fence = /^ {0,3}(`{3,}|~{3,})/.exec(token.raw)?.[1];
  if (!fence) return false;
  const last = token.raw.trimEnd().split("\n");
  return last.length < 2 || !(last[last.length - 1] ?? "").trim().startsWith(fence);
}
