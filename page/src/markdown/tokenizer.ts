import { Tokenizer, type Tokens } from "marked";
import { endOf } from "./pieces";

/** Quotations and lists inside one another to this depth; what is deeper stays as it is written. */
const NESTED_LIMIT = 12;
/** A longer quotation goes on in another one: lines without a mark make reading it slower and slower. */
const QUOTE = { chars: 8_000, lines: 400 };
/** A table of more cells goes on as it is written: a browser lays all of it out at once. */
const CELL_LIMIT = 5_000;

const linesEnd = (text: string, lines: number) => endOf(text, 0, { chars: text.length, lines });

/** Reads blocks of Markdown in time that grows with the text. */
export class BoundedTokenizer extends Tokenizer {
  private depth = 0;

  override blockquote(source: string): Tokens.Blockquote | undefined {
    const end = source.indexOf("\n", endOf(source, 0, QUOTE) - 1);
    return this.nested(() => super.blockquote(end < 0 ? source : source.slice(0, end + 1)));
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
