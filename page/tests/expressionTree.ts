/** A regular expression as a tree: as much of it as hostile texts are made from. */
export type Node =
  | { kind: "sign"; source: string }
  | { kind: "edge" }
  | { kind: "back"; group: number | string }
  | { kind: "repeat"; least: number; most: number; body: Node }
  | { kind: "group"; number: number | null; name: string | null; isLook: boolean; branches: Node[][] };

/** As many turns count as many; fewer are a constant factor. */
export const MANY = 16;

const GROUP = /\((?:\?(?:(<?[=!])|(:)|<([^>]+)>))?/y;
const CLASS = /\[(?:\\[^]|[^\]\\])*\]/y;
const BACK = /\\(?:k<([^>]+)>|([1-9]))/y;
const ESCAPE = /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Z]|[^])/y;
const REPEAT = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;

class Parser {
  private at = 0;
  private groups = 0;

  constructor(private readonly source: string) {}

  branches(): Node[][] {
    const found: Node[][] = [[]];
    while (this.at < this.source.length && this.source[this.at] !== ")") {
      if (this.source[this.at] === "|") {
        this.at += 1;
        found.push([]);
      } else found[found.length - 1]?.push(this.repeated(this.one()));
    }
    return found;
  }

  private take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.source);
    if (found) this.at = pattern.lastIndex;
    return found;
  }

  private one(): Node {
    const sign = this.source[this.at] ?? "";
    if (sign === "(") return this.group();
    if (sign === "^" || sign === "$" || /^\\[bB]/.test(this.source.slice(this.at, this.at + 2))) {
      this.at += sign === "\\" ? 2 : 1;
      return { kind: "edge" };
    }
    const back = this.take(BACK);
    if (back) return { kind: "back", group: back[1] ?? Number(back[2]) };
    const taken = this.take(CLASS) ?? this.take(ESCAPE) ?? this.take(/[^]/uy);
    return { kind: "sign", source: taken?.[0] ?? "" };
  }

  private group(): Node {
    const [, look, plain, name] = this.take(GROUP) ?? [];
    const number = look || plain ? null : (this.groups += 1);
    const branches = this.branches();
    this.at += 1;
    return { kind: "group", number, name: name ?? null, isLook: look !== undefined, branches };
  }

  private repeated(body: Node): Node {
    const found = this.take(REPEAT);
    if (!found) return body;
    const [, sign, least, comma, most] = found;
    if (sign) return { kind: "repeat", least: sign === "+" ? 1 : 0, most: sign === "?" ? 1 : Infinity, body };
    return { kind: "repeat", least: Number(least), most: comma ? Number(most || Infinity) : Number(least), body };
  }
}

/** Return the tree of an expression. */
export function parse({ source }: RegExp): Node {
  return { kind: "group", number: null, name: null, isLook: false, branches: new Parser(source).branches() };
}

/** Return a node and all within it. */
export function nodes(node: Node): Node[] {
  const inside = node.kind === "repeat" ? [node.body] : node.kind === "group" ? node.branches.flat() : [];
  return [node, ...inside.flatMap(nodes)];
}

/** Tell whether nothing in it repeats often: then each place of a text costs the same, wherever it begins. */
export const isLinear = (pattern: RegExp) => !nodes(parse(pattern)).some((node) => node.kind === "repeat" && node.most >= MANY);
