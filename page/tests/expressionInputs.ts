import { MANY, nodes, parse, type Node } from "./expressionTree";

/** A text that grows: what it begins with, what comes again and again, and what it ends with. */
export interface Hostile {
  before: string;
  again: string;
  after: string;
}

/** Return it with about that many characters. */
export const textOf = ({ before, again, after }: Hostile, size: number) =>
  before + again.repeat(Math.max(1, Math.floor(size / again.length))) + after;

/** As many characters are tried for each repeat: those first that other parts of the expression take, too. */
const PUMPS = 4;
const COMMON = "a0 _\n\t-.\"'\\/:,=*`[](){}<>$#@~|;&A\x00é";
/** More than so many are alike. */
const MOST = 120;
/** What stands between two turns, so that what ends a hit is there and does not fit. */
const BETWEEN = [" ", "\n", "a", ","];

type Sign = Extract<Node, { kind: "sign" }>;
type Repeat = Extract<Node, { kind: "repeat" }>;

/** What is asked of one expression's tree. */
class Tree {
  readonly root: Node;
  private readonly taken = new Map<Sign, string[]>();
  private readonly letters: string[];
  private readonly groups = new Map<number | string, string>();

  constructor(pattern: RegExp) {
    this.root = parse(pattern);
    const signs = nodes(this.root).filter((node) => node.kind === "sign");
    this.letters = [...new Set([...COMMON, ...signs.flatMap(({ source }) => (source.length <= 2 ? [...source] : [...source.slice(1, -1)]))])];
    const flags = pattern.flags.replace(/[gy]/g, "");
    for (const sign of signs) {
      const probe = new RegExp(`^(?:${sign.source})$`, flags);
      this.taken.set(sign, this.letters.filter((letter) => probe.test(letter)));
    }
  }

  private popularity(letter: string): number {
    return [...this.taken.values()].filter((taken) => taken.includes(letter)).length;
  }

  /** Ends that no match goes on with: nothing, a break, and what is refused most often. */
  ends(): string[] {
    const refused = [...this.letters].sort((a, b) => this.popularity(a) - this.popularity(b))[0] ?? "\x00";
    return [...new Set(["", "\n", refused])];
  }

  example(sequence: readonly Node[], isWhole: boolean, prefer = ""): string {
    return sequence.map((node) => this.one(node, isWhole, prefer)).join("");
  }

  private one(node: Node, isWhole: boolean, prefer: string): string {
    if (node.kind === "edge") return "";
    if (node.kind === "back") return this.groups.get(node.group) ?? "";
    if (node.kind === "repeat") {
      return this.one(node.body, isWhole, prefer).repeat(Math.min(Math.max(node.least, isWhole ? 1 : 0), MANY));
    }
    if (node.kind === "group") {
      const inside = this.example(node.branches[0] ?? [], isWhole, prefer);
      if (node.number !== null) this.groups.set(node.number, inside);
      if (node.name !== null) this.groups.set(node.name, inside);
      return node.isLook ? "" : inside;
    }
    const taken = this.taken.get(node) ?? [];
    return prefer && taken.includes(prefer) ? prefer : (taken[0] ?? "a");
  }

  pumps({ body }: Repeat, before: string): string[] {
    if (body.kind === "sign") {
      const taken = [...(this.taken.get(body) ?? [])].sort((a, b) => this.popularity(b) - this.popularity(a));
      return taken.length ? taken.slice(0, PUMPS) : ["a"];
    }
    const found = [this.example([body], false), this.example([body], true)];
    for (const prefer of ["", before.slice(0, 1), before.slice(-1)]) {
      found.push(this.example([body], false, prefer));
      for (const node of nodes(body)) {
        if (node.kind === "group") found.push(...node.branches.map((branch) => this.example(branch, true, prefer)));
        if (node.kind === "repeat") found.push(this.example([body], false) + this.example([node.body], false));
        if (node.kind === "sign") found.push(...(this.taken.get(node) ?? []).slice(0, 2));
      }
    }
    return [...new Set(found.filter(Boolean))].slice(0, 2 * PUMPS);
  }

  /** Every repeat that can go on, with what leads to it: the least, or also what may be left out. */
  *repeats(sequence: readonly Node[], before: string, isWhole: boolean): Generator<{ before: string; pumps: string[] }> {
    let led = before;
    for (const node of sequence) {
      if (node.kind === "repeat" && node.most >= MANY) yield { before: led, pumps: this.pumps(node, led) };
      if (node.kind === "repeat") yield* this.repeats([node.body], led, isWhole);
      if (node.kind === "group") for (const branch of node.branches) yield* this.repeats(branch, led, isWhole);
      led += this.one(node, isWhole, "");
    }
  }
}

/** Return texts that lead to each repeat and pump it; each ends so that the match fails late. */
export function inputs(pattern: RegExp): Hostile[] {
  const tree = new Tree(pattern);
  const repeats = [false, true].flatMap((isWhole) => [...tree.repeats([tree.root], "", isWhole)]);
  const ends = tree.ends();
  const found: Hostile[] = [];
  for (const { before, pumps } of repeats) {
    for (const again of pumps) {
      for (const after of ends) found.push({ before, again, after });
      for (const between of ["", ...BETWEEN, ends[ends.length - 1] ?? ""]) found.push({ before: "", again: before + again + between, after: "" });
    }
    if (before) found.push({ before: "", again: before, after: "" });
  }
  repeats.slice(1).forEach((second, at) => {
    const [first, one, two] = [repeats[at], repeats[at]?.pumps[0] ?? "", second.pumps[0] ?? ""];
    found.push({ before: first?.before ?? "", again: one + two, after: "\x00" });
    found.push({ before: "", again: second.before + two + (first?.before ?? "") + one, after: "" });
  });
  const made = [...new Map(found.map((one) => [JSON.stringify(one), one])).values()];
  const step = Math.ceil(made.length / MOST);
  return made.filter((_, at) => at % step === 0);
}
