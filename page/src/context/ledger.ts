import { cost } from "../chat/words";
import { counted } from "../servers/words";
import type { ConversationState } from "../store/conversation";
import type { ContextLedger, ContextPart, Run, UsageSum } from "../api/types";

type PartKind = ContextPart["kind"];

/** From this share on of what is summed up above, it is time to say so. */
const NEAR = 0.85;

/** Return a number of tokens as it is written out: "54,210". */
export const tokens = (count: number) => count.toLocaleString("en");

/** Return a share in words; what is there is never nothing, and what is not all is never all. */
export function percent(part: number, whole: number): string {
  if (part <= 0 || whole <= 0) return "0%";
  const share = (part / whole) * 100;
  if (share < 1) return "<1%";
  return `${part < whole ? Math.min(99, Math.round(share)) : Math.round(share)}%`;
}

/** Tell whether the window is so full that older turns will soon be summed up. */
export const isNearlyFull = ({ used, compactAbove, gone }: ContextLedger) => !gone && used >= compactAbove * NEAR;

/** Return what the ring says: "Context: 42% of 128,000 tokens used". */
export function ringLabel(ledger: ContextLedger | null): string {
  if (!ledger) return "Context";
  if (ledger.gone) return `Context: ${ledger.gone}`;
  const words = `Context: ${percent(ledger.used, ledger.window)} of ${tokens(ledger.window)} tokens used`;
  return isNearlyFull(ledger) ? `${words}; older turns are summed up soon` : words;
}

/** The kinds in the order of the inks that draw them. */
const inks: readonly PartKind[] = ["conversation", "tools", "results", "files", "thinking", "summary", "pictures"];

/** Return the number of the ink that draws a kind; the last is for all others. */
export const inkOf = (kind: PartKind) => inks.indexOf(kind) + 1 || inks.length + 1;

const names: Record<PartKind, string> = {
  conversation: "Conversation",
  results: "Results of tools",
  tools: "Tools",
  files: "Files",
  pictures: "Pictures",
  thinking: "Thinking",
  summary: "Summary of older turns",
  system: "Instructions",
};

/** All of one kind, and what it consists of where that is more than one thing. */
export interface Filling {
  kind: PartKind;
  name: string;
  tokens: number;
  parts: readonly ContextPart[];
}

/** Return what fills the window, the largest first; a kind that this page does not know has its own words. */
export function fillings(parts: readonly ContextPart[]): Filling[] {
  const found = new Map<PartKind, ContextPart[]>();
  for (const part of parts) if (part.tokens > 0) found.set(part.kind, [...(found.get(part.kind) ?? []), part]);
  const all = [...found].map(([kind, own]) => ({
    kind,
    name: names[kind] ?? own[0]?.label ?? kind,
    tokens: own.reduce((sum, part) => sum + part.tokens, 0),
    parts: own.length > 1 ? own.sort((a, b) => b.tokens - a.tokens) : [],
  }));
  return all.sort((a, b) => b.tokens - a.tokens);
}

/** Return how many requests nobody counted to their end, in words; nothing where their providers counted all. */
export const estimatedWords = ({ estimated }: Pick<UsageSum, "estimated">) => (estimated ? `${tokens(estimated)} estimated` : "");

/** Return what something cost: "about $0.12", with what it leaves out where not every price is known. */
export function costWords({ cost: dollars, requests, costKnownFor }: Pick<UsageSum, "cost" | "requests" | "costKnownFor">): string {
  if (requests === 0) return "nothing yet";
  if (dollars === null) return "no price known";
  const unknown = requests - costKnownFor;
  return unknown > 0 ? `${cost(dollars)}; no price known for ${counted(unknown, "request")}` : cost(dollars);
}

const isCounted = (kind: string) => kind === "response" || kind === "compaction";
const isAtWork = ({ status }: Run) => status === "queued" || status === "running" || status === "waiting";

/** Return what is another text whenever the window may be filled otherwise: an answer has ended, a run is over, or another path is shown. */
export function ledgerMoment(open: ConversationState | null): string {
  if (!open || open.conversation.deletedAt !== null) return "";
  const last = open.order.findLast((id) => {
    const item = open.items.get(id);
    return item && isCounted(item.kind) && item.status !== "streaming";
  });
  const over = [...open.runs.values()].filter((run) => !isAtWork(run)).length;
  return [open.conversation.id, open.branch, last, over, open.hidden.size].join(" ");
}
