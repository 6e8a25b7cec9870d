import type { Example, Rule, Verdict } from "../api/authority";
import { hostNow } from "../store/clock";
import { anything, typed, words, type Pattern } from "./pattern";

/** An example as it is typed: the tool, then a command, paths, or a place to send to. */
export interface RuleDraft {
  id: string;
  verdict: Verdict;
  pattern: Pattern;
  note: string;
  /** One example to a line. */
  match: string;
  notMatch: string;
  createdAt: number;
}

/** Read an example: "git status", "file_operations.create_file: src/a.ts in /home/ada", "github.push: to github.com". */
export function exampleOf(line: string, pattern: Pattern): Example {
  const named = /^\s*([\w-]+\.[\w-]+)\s*:\s*(.*)$/.exec(line);
  const tool = named?.[1] ?? pattern.tool;
  const said = (named?.[2] ?? line).trim();
  const where = /(?<!\s)\s+in\s+(\/\S*)$/.exec(said);
  const what = said.slice(0, where?.index);
  const example = { tool, paths: [], command: "", destination: "", folder: where?.[1] ?? "/" };
  const sent = /^to\s+(\S+)$/.exec(what);
  if (sent) return { ...example, destination: sent[1] ?? "" };
  const runs = pattern.command.length > 0 || tool.startsWith("terminal_operations.");
  return runs ? { ...example, command: what } : { ...example, paths: words(what) };
}

/** Return an example as it is typed. */
export function exampleLine(example: Example): string {
  const what = example.command || (example.destination ? `to ${example.destination}` : typed(example.paths));
  const folder = example.folder && example.folder !== "/" ? ` in ${example.folder}` : "";
  return `${example.tool}: ${what}${folder}`;
}

const lines = (text: string) => text.split("\n").map((line) => line.trim()).filter(Boolean);

/** Return a rule that says nothing yet. */
export const newRule = (): RuleDraft => ({
  id: "",
  verdict: "allow",
  pattern: { ...anything, tool: "" },
  note: "",
  match: "",
  notMatch: "",
  createdAt: 0,
});

export const draftOf = (rule: Rule): RuleDraft => ({
  ...rule,
  match: rule.match.map(exampleLine).join("\n"),
  notMatch: rule.notMatch.map(exampleLine).join("\n"),
});

/** Return a name for a new rule that none of these has. */
export function freeId(rules: readonly Rule[]): string {
  let number = rules.length + 1;
  while (rules.some(({ id }) => id === `rule-${number}`)) number += 1;
  return `rule-${number}`;
}

/** Return the rule that a draft stands for. */
export function ruleOf(draft: RuleDraft, rules: readonly Rule[]): Rule {
  const pattern = { ...draft.pattern, tool: draft.pattern.tool || "*" };
  return {
    ...draft,
    id: draft.id || freeId(rules),
    pattern,
    note: draft.note.trim(),
    match: lines(draft.match).map((line) => exampleOf(line, pattern)),
    notMatch: lines(draft.notMatch).map((line) => exampleOf(line, pattern)),
    createdAt: draft.createdAt || hostNow() / 1000,
  };
}

/** Return all rules with this one in its place, or at the end. */
export function withRule(rules: readonly Rule[], rule: Rule): Rule[] {
  const isKnown = rules.some(({ id }) => id === rule.id);
  return isKnown ? rules.map((each) => (each.id === rule.id ? rule : each)) : [...rules, rule];
}

export interface Complaint {
  field: "match" | "notMatch" | "pattern" | "form";
  sentence: string;
}

/** Return where a complaint of the server's about a rule belongs, without the rule's name: it is being looked at. */
export function complaintOf(message: string, id: string): Complaint {
  const head = `Rule “${id}”`;
  if (!message.startsWith(head)) return { field: "form", sentence: message };
  const rest = message.slice(head.length).replace(/^:?\s*/, "");
  if (rest.startsWith("should not be about")) return { field: "notMatch", sentence: `It ${rest}` };
  if (rest.startsWith("should be about")) return { field: "match", sentence: `It ${rest}` };
  return { field: "pattern", sentence: rest.charAt(0).toUpperCase() + rest.slice(1) };
}
