import { common, createLowlight } from "lowlight";
import type { HighlightAnswer, HighlightRequest, Span } from "./highlight";

// Highlighting runs here, so that no grammar can hold up the page; whoever asks gives up after a while.

const lowlight = createLowlight(common);

interface Node {
  type: string;
  value?: string;
  children?: Node[];
  properties?: { className?: string[] };
}

function flatten(node: Node, className: string, spans: Span[]): void {
  if (node.type === "text") {
    spans.push([className, node.value ?? ""]);
    return;
  }
  const own = node.properties?.className?.[0] ?? className;
  for (const child of node.children ?? []) flatten(child, own, spans);
}

function highlight({ id, language, code }: HighlightRequest): HighlightAnswer {
  if (!lowlight.registered(language)) return { id, spans: null };
  const spans: Span[] = [];
  flatten(lowlight.highlight(language, code) as Node, "", spans);
  return { id, spans };
}

self.onmessage = ({ data }: MessageEvent<HighlightRequest>) => self.postMessage(highlight(data));
