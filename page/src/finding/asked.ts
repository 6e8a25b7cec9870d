import type { FoundServer, FoundServers, Proposal, Recognised } from "../api/types";
import { LOCALE } from "../shell/time";

/** What stands in the box, recognised; of a file its name. */
export interface Understood {
  recognised: Recognised;
  file: string;
}

/** Something that can be chosen: a server of a registry, or one that was recognised in the text itself. */
export type Choice =
  | { kind: "found"; id: string; server: FoundServer }
  | { kind: "proposal"; id: string; proposal: Proposal };

/** As much as two letters find everything. */
const FEWEST = 2;

/** What begins a command, or is an option of one. */
const COMMAND = /^(npx|uvx|uv|npm|pip3?|pipx|bunx|pnpm|yarn|docker|podman|deno|node|python3?|claude|code|codex|gemini)\s|\s-/;

/** Tell whether a text is words and hardly anything else that the box takes: then the search need not wait. */
export const isWords = (text: string): boolean => /^[\p{L}\p{N}][\p{L}\p{N} _-]*$/u.test(text.trim()) && !COMMAND.test(text.trim());

/** Return what to search for: what the server says, and the words themselves until it does; "" for nothing. */
export function wordsOf(text: string, understood: Understood | null): string {
  const words = understood ? understood.recognised.words : isWords(text) ? text.trim() : "";
  return words.length < FEWEST ? "" : words;
}

/** Tell whether a choice can be made. */
export const isOpen = (choice: Choice): boolean => choice.kind === "found" || choice.proposal.server !== null;

/**
 * Return what can be chosen, in its order. Of words the registries answer first and stay where they are; a package that
 * has the same name comes below them. Of anything else, what was recognised comes first.
 */
export function choicesOf(text: string, understood: Understood | null, found: FoundServers | null): Choice[] {
  const recognised = (understood?.recognised.proposals ?? []).map(
    (proposal, at): Choice => ({ kind: "proposal", id: `proposal-${at}`, proposal }),
  );
  const servers = (found?.servers ?? []).map((server, at): Choice => ({ kind: "found", id: `found-${at}`, server }));
  return understood?.file || !isWords(text) ? [...recognised, ...servers] : [...servers, ...recognised];
}

/** Return where a key moves the choice to; null for any other key. Nothing is chosen before the first Down. */
export function moved(key: string, at: number, count: number): number | null {
  switch (key) {
    case "ArrowDown":
      return Math.min(at + 1, count - 1);
    case "ArrowUp":
      return Math.max(at - 1, -1);
    case "PageDown":
      return Math.min(at + 5, count - 1);
    case "PageUp":
      return Math.max(at - 5, 0);
    default:
      return null;
  }
}

/** Return what Enter chooses: what was moved to, or the only one there is. */
export function entered(choices: readonly Choice[], at: number): Choice | null {
  const open = choices.filter(isOpen);
  const choice = at < 0 ? (open.length === 1 ? open[0] : undefined) : choices[at];
  return choice && isOpen(choice) ? choice : null;
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Return how often a server is used: "12.4K uses". */
export const usesWords = (uses: number | null): string => (uses === null ? "" : `${compact.format(uses)} ${uses === 1 ? "use" : "uses"}`);

/** Return a registry's date as people write it; "" for what is none. */
export function dateWords(at: string): string {
  const date = new Date(at);
  if (!at || Number.isNaN(date.getTime())) return "";
  return date.toLocaleDateString(LOCALE, { day: "numeric", month: "short", year: "numeric" });
}
