import { answerTo, asks } from "../api/items";
import type { CallItem, Item } from "../api/types";
import { inTime, secondsOf } from "../approvals/choices";
import { clock } from "../shell/time";
import { given } from "../approvals/settled";
import { modeNames, modeOf } from "../policy/modes";
import { isAbout } from "../policy/pattern";
import { toolName } from "./call";

type Decision = NonNullable<CallItem["data"]["decision"]>;

const verdicts: Record<string, string> = { allow: "Allowed", ask: "Asked about", deny: "Refused" };

interface Permission {
  tool: string;
  /** Empty when no time ends it. */
  duration: string;
  at: number;
  /** The run that it is for; null for any. */
  runId: string | null;
}

/** How long an agent is given what it asks leave for. */
const ASKED_FOR = "5m";
const passing = new Set(["task", "while", "conversation"]);

/** Return the permission for a while that the answer to a question gave, if it gave one. */
function givenBy(item: Item): Permission | null {
  if (item.kind !== "question" || item.status !== "completed") return null;
  const { choice, at, content } = answerTo(item);
  const since = at || item.updatedAt;
  if (asks(item, "approval") && passing.has(choice ?? "")) {
    const { pattern, duration } = given(content);
    return { tool: pattern?.tool ?? "*", duration, at: since, runId: choice === "task" ? item.runId : null };
  }
  if (!asks(item, "collaboration") || choice !== "approve") return null;
  const { authorizes, duration } = item.data;
  return authorizes ? { tool: authorizes, duration: duration || ASKED_FOR, at: since, runId: null } : null;
}

/** Return how long a permission holds, in words: "for 5 minutes, until 14:05". */
function longWords({ duration, at, runId }: Permission): string {
  if (runId) return "for this task";
  return duration ? `for ${inTime(duration)}, until ${clock(at + (secondsOf(duration) ?? 0))}` : "in this conversation";
}

/** Return for how long a call was allowed before it was made; empty when that is not known. */
function lasting(call: CallItem, at: number, items: Iterable<Item>): string {
  const { access } = call.data;
  const operation = access?.operation || toolName(call);
  let words = "";
  for (const item of items) {
    const permission = givenBy(item);
    if (!permission || !isAbout(permission.tool, operation) || at < permission.at) continue;
    const isOver = permission.duration !== "" && at > permission.at + (secondsOf(permission.duration) ?? 0);
    if (isOver || (permission.runId && permission.runId !== call.runId)) continue;
    words = longWords(permission);
  }
  return words;
}

function bySomeone({ authority, by, at, rule }: Decision, call: CallItem, items: Iterable<Item>): string {
  switch (authority) {
    case "rule":
      return "by a rule";
    case "grant":
      return `by you ${lasting(call, at, items) || "for a while"}`;
    case "mode":
      return `by the mode ${modeNames[modeOf(rule)]}`;
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
export function decisionOf(call: CallItem, items: Iterable<Item> = []): string {
  const { decision } = call.data;
  const verdict = decision && verdicts[decision.verdict];
  if (!verdict) return "";
  const who = bySomeone(decision, call, items);
  const head = who ? `${verdict} ${who}` : verdict;
  const isClear = decision.verdict === "allow" && selfEvident.has(decision.authority);
  return decision.why && !isClear ? `${head}. ${decision.why}` : `${head}.`;
}
