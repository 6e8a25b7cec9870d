import { common, createLowlight } from "lowlight";
import type { HighlightAnswer, HighlightRequest } from "./highlight";

// Highlighting runs here, so that no grammar can hold up the page; whoever asks gives up after a while.

const lowlight = createLowlight(common);

interface Node {
  type: string;
  value?: string;
  children?: Node[];
  properties?: { className?: string[] };
}

/** Colours as numbers: they cross to the page without being copied one by one. */
class Marks {
  readonly names: string[] = [""];
  private readonly numbers: number[] = [];

  add(name: string, length: number): void {
    const known = this.names.indexOf(name);
    const at = known >= 0 ? known : this.names.push(name) - 1;
    const last = this.numbers.length - 2;
    if (last >= 0 && this.numbers[last] === at) this.numbers[last + 1] = (this.numbers[last + 1] ?? 0) + length;
    else this.numbers.push(at, length);
  }

  packed(): Uint32Array<ArrayBuffer> {
    return Uint32Array.from(this.numbers);
  }
}

function mark(node: Node, name: string, marks: Marks): void {
  if (node.type === "text") return marks.add(name, (node.value ?? "").length);
  const own = node.properties?.className?.[0] ?? name;
  for (const child of node.children ?? []) mark(child, own, marks);
}

function answer({ id, language, code }: HighlightRequest): HighlightAnswer {
  const marks = new Marks();
  if (!lowlight.registered(language)) return { id, names: [], marks: null };
  mark(lowlight.highlight(language, code) as Node, "", marks);
  return { id, names: marks.names, marks: marks.packed() };
}

self.onmessage = ({ data }: MessageEvent<HighlightRequest>) => {
  const made = answer(data);
  self.postMessage(made, { transfer: made.marks ? [made.marks.buffer] : [] });
};
