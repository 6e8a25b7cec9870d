import { Lexer, type Token, type Tokens, type TokensList } from "marked";
import { hideFormulas, showFormulas } from "./formulas";
import { BoundedTokenizer } from "./tokenizer";

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
const INLINE_LIMIT = 8_000;
/** So many of a sign in a row mean nothing, and each would be tried as the beginning of something. */
const SAME_SIGNS = /([*_~!`[<\\])\1{99}/;
/** Quotations, lists and emphasis inside one another to this depth; what is deeper stays as it is written. */
const DEPTH_LIMIT = 24;
/** A paragraph longer than this is finished, and what follows is another one: nobody reads all of it again and again. */
const PARAGRAPH_LIMIT = 24_000;
/** A list longer than this is cut, so that its finished points are not read again and again. */
const LIST_LIMIT = 24;

export const noBlocks: Blocks = { text: "", finished: [], tail: [], tailStart: 0, links: {} };

const plain = (text: string): Token => ({ type: "text", raw: text, text });

/** Give the tokens inside a token; those of a list are in its points, those of a table in its cells. */
function inside(token: Token): Token[] {
  if (token.type === "list") return (token as Tokens.List).items;
  return ("tokens" in token && token.tokens) || [];
}

/** Cut off what is nested too deeply to be drawn. */
function bound(tokens: Token[], depth: number): void {
  tokens.forEach((token, at) => {
    if (depth < DEPTH_LIMIT) bound(inside(token), depth + 1);
    else if (token.type === "list") tokens[at] = plain(token.raw);
    else if ("tokens" in token && token.tokens?.length) token.tokens = [plain(token.raw)];
  });
}

function lex(lexer: Lexer, source: string): void {
  lexer.blockTokens(source, lexer.tokens);
  for (const { src, tokens } of lexer.inlineQueue) {
    if (src.length <= INLINE_LIMIT && !SAME_SIGNS.test(src)) lexer.inlineTokens(src, tokens);
    else tokens.push(plain(src));
  }
  bound(lexer.tokens, 0);
}

function read(source: string, links: TokensList["links"]): TokensList {
  const lexer = new Lexer({ gfm: true, tokenizer: new BoundedTokenizer() });
  Object.assign(lexer.tokens.links, links);
  try {
    lex(lexer, source);
  } catch (error) {
    // Text nested so deeply that reading it exhausts the stack is nobody's prose: it is shown as it is.
    if (!(error instanceof RangeError)) throw error;
    lexer.tokens.splice(0, lexer.tokens.length, { type: "paragraph", raw: source, text: source, tokens: [plain(source)] });
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

const rawLength = (tokens: readonly Token[]) => tokens.reduce((sum, token) => sum + token.raw.length, 0);

const isEndless = (token: Token | undefined) => token?.type === "paragraph" && token.raw.length > PARAGRAPH_LIMIT;

/** Return how many tokens are finished: all before the last one that is not just space, and before an open formula. */
function finishedCount(tokens: readonly Token[], open: number): number {
  const last = tokens.findLastIndex((token) => token.type !== "space");
  const most = isEndless(tokens[last]) ? tokens.length : Math.max(0, last);
  let [count, length] = [0, 0];
  while (count < most && (length += tokens[count]?.raw.length ?? 0) <= open) count += 1;
  return count;
}

/** Return the blocks of a text that has grown from the one before; only its tail is read. */
export function grow(before: Blocks, grown: string): Blocks {
  const text = grown.includes("\r") ? grown.replace(/\r\n?/g, "\n") : grown;
  if (text === before.text) return before;
  const base = text.startsWith(before.text) ? before : noBlocks;
  const unread = text.slice(base.tailStart);
  const hidden = hideFormulas(unread);
  const tokens = read(hidden.text, base.links);
  if (hidden.text !== unread) tokens.forEach((token) => showFormulas(token));
  const links = tokens.links;
  const count = finishedCount(tokens, hidden.open);
  let done: Token[] = tokens.slice(0, count);
  let rest: Token[] = tokens.slice(count);
  const cut = hidden.open < unread.length ? null : cutList(rest);
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
