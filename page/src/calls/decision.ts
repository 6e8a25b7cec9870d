import type { Item } from "../api/types";
import { record, text } from "../chat/data";
import { modeNames, modeOf } from "../policy/modes";

const verdicts: Record<string, string> = { allow: "Allowed", ask: "Asked about", deny: "Refused" };

function bySomeone(authority: string, rule: string, by: string): string {
  switch (authority) {
    case "rule":
      return "by a rule";
    case "grant":
      return "by a permission that you gave before";
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

/** Return on whose word a call was carried out or not, and why; empty while nothing was decided. */
export function decisionOf({ data }: Item): string {
  const decision = record(data.decision);
  const verdict = verdicts[text(decision.verdict)];
  if (!verdict) return "";
  const authority = text(decision.authority);
  const who = bySomeone(authority, text(decision.rule), text(decision.by));
  const head = who ? `${verdict} ${who}` : verdict;
  const why = authority === "person" && decision.verdict === "allow" ? "" : text(decision.why);
  return why ? `${head}. ${why}` : `${head}.`;
}
