import type { Item } from "../api/types";
import { clock, inTime, secondsOf } from "../approvals/choices";
import { record, text } from "../chat/data";
import { modeNames, modeOf } from "../policy/modes";
import { patternOf } from "../policy/pattern";
import { toolName } from "./call";

const verdicts: Record<string, string> = { allow: "Allowed", ask: "Asked about", deny: "Refused" };

const number = (value: unknown) => (typeof value === "number" ? value : 0);

/** Tell whether a pattern's tool is about an operation. */
const isAbout = (tool: string, operation: string) =>
  tool === "*" || tool === operation || (tool.endsWith(".*") && operation.startsWith(tool.slice(0, -1)));

interface Given {
  tool: string;
  duration: string;
  at: number;
}

/** Return the permission for a while that the answer to a question gave, if it gave one. */
function givenBy({ kind, status, data, updatedAt }: Item): Given | null {
  if (kind !== "question" || status !== "completed") return null;
  const answer = record(data.answer);
  const at = number(answer.at) || updatedAt;
  if (data.kind === "approval" && answer.choice === "conversation") {
    const { pattern, duration } = record(answer.content);
    return { tool: patternOf(pattern)?.tool ?? "*", duration: text(duration) || "5m", at };
  }
  if (data.kind === "collaboration" && answer.choice === "approve" && text(data.authorizes)) {
    return { tool: text(data.authorizes), duration: text(data.duration) || "5m", at };
  }
  return null;
}

/** Return for how long a call was allowed before it was made: "for 5 minutes, until 14:05"; empty when that is not known. */
function lasting(call: Item, at: number, items: Iterable<Item>): string {
  const operation = text(record(call.data.access).operation) || toolName(call);
  let words = "";
  for (const item of items) {
    const given = givenBy(item);
    const end = given && given.at + (secondsOf(given.duration) ?? 0);
    if (!given || end === null || !isAbout(given.tool, operation) || at < given.at || at > end) continue;
    words = `for ${inTime(given.duration)}, until ${clock(end)}`;
  }
  return words;
}

function bySomeone(decision: Record<string, unknown>, call: Item, items: Iterable<Item>): string {
  const by = text(decision.by);
  switch (text(decision.authority)) {
    case "rule":
      return "by a rule";
    case "grant":
      return `by you ${lasting(call, number(decision.at), items) || "for a while"}`;
    case "mode":
      return `by the mode ${modeNames[modeOf(text(decision.rule))]}`;
    case "person":
      return by && by !== "local" ? `by ${by}` : "by you";
    case "run":
      return "together with your message";
    default:
      return "";
  }
}

/** What these say is said by who allowed it. */
const selfEvident = new Set(["person", "grant", "run"]);

/** Return on whose word a call was carried out or not, and why; empty while nothing was decided. */
export function decisionOf(call: Item, items: Iterable<Item> = []): string {
  const decision = record(call.data.decision);
  const verdict = verdicts[text(decision.verdict)];
  if (!verdict) return "";
  const who = bySomeone(decision, call, items);
  const head = who ? `${verdict} ${who}` : verdict;
  const isClear = decision.verdict === "allow" && selfEvident.has(text(decision.authority));
  const why = isClear ? "" : text(decision.why);
  return why ? `${head}. ${why}` : `${head}.`;
}
