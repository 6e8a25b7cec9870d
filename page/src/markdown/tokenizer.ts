import { Tokenizer, type Tokens } from "marked";
import { endOf } from "./pieces";

/** Quotations and lists inside one another to this depth; what is deeper stays as it is written. */
const NESTED_LIMIT = 12;
/** A longer quotation goes on in another one. */
const QUOTE_LIMIT = 8_000;
/** So does one with more lines that have no mark of their own: they make reading it slower and slower. */
const UNMARKED_LIMIT = 100;
/** A table of more cells goes on as it is written: a browser lays all of it out at once. */
const CELL_LIMIT = 5_000;

const linesEnd = (text: string, lines: number) => endOf(text, 0, { chars: text.length, lines });

/** Return where a quotation ends at the latest. */
function quoteEnd(source: string): number {
  let [end, unmarked] = [0, 0];
  while (end < QUOTE_LIMIT && unmarked < UNMARKED_LIMIT) {
    const next = source.indexOf("\n", end) + 1;
    if (!next) return source.length;
    if (!/^ {0,3}>/.test(source.slice(end, end + 4))) unmarked += 1;
    end = next;
  }
  return end;
}

/** Reads blocks of Markdown in time that grows with the text. */
export class BoundedTokenizer extends Tokenizer {
  private depth = 0;

  override blockquote(source: string): Tokens.Blockquote | undefined {
    return this.nested(() => super.blockquote(source.slice(0, quoteEnd(source))));
  }

  override list(source: string): Tokens.List | undefined {
    return this.nested(() => super.list(source));
  }

  override table(source: string): Tokens.Table | undefined {
    // The first two lines say whether it is one; otherwise its rows would be looked for at each line anew.
    const columns = super.table(source.slice(0, linesEnd(source, 2)))?.header.length;
    if (!columns || columns > CELL_LIMIT) return undefined;
    return super.table(source.slice(0, linesEnd(source, 1 + Math.floor(CELL_LIMIT / columns))));
  }

  private nested<Block>(read: () => Block | undefined): Block | undefined {
    if (this.depth >= NESTED_LIMIT) return undefined;
    this.depth += 1;
    try {
      return read();
    } finally {
      this.depth -= 1;
    }
  }
}
