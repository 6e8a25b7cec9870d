import type { Pattern } from "../api/authority";
import { record, text } from "../chat/data";

export type { Pattern };

export const anything: Pattern = { tool: "*", definition: "", paths: [], command: [], destination: "", folder: "" };

const texts = (value: unknown) => (Array.isArray(value) ? value.map(text).filter(Boolean) : []);

/** Read a pattern without trusting it; null when there is none. */
export function patternOf(value: unknown): Pattern | null {
  const told = record(value);
  if (!Object.keys(told).length) return null;
  return {
    tool: text(told.tool) || "*",
    definition: text(told.definition),
    paths: texts(told.paths),
    command: texts(told.command),
    destination: text(told.destination),
    folder: text(told.folder),
  };
}

function toolWords(tool: string): string {
  if (tool === "*") return "every tool";
  if (tool.endsWith(".*")) return `every operation of ${tool.slice(0, -2)}`;
  return tool;
}

function listed(words: readonly string[], joint: string): string {
  return words.length < 3 ? words.join(` ${joint} `) : `${words.slice(0, -1).join(", ")} ${joint} ${words.at(-1)}`;
}

function pathWords(glob: string): string {
  if (glob === "**") return "anything in the working directory";
  if (glob === "/**") return "any file of this machine";
  if (glob === "*") return "files directly in the working directory";
  if (glob.endsWith("/**")) return `anything in ${glob.slice(0, -2)}`;
  if (glob.endsWith("/*")) return `files directly in ${glob.slice(0, -1)}`;
  return glob;
}

function commandWords(words: readonly string[]): string {
  const fixed = words.at(-1) === "*" ? words.slice(0, -1) : words;
  const shown = fixed.map((word) => (/^[^\s"'\\]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
  if (fixed.length === words.length) return `the command “${shown}”, exactly`;
  return fixed.length ? `“${shown}” with any further words that are not options` : "any command";
}

/** Return what a pattern covers, in words: "file_operations.create_file, only on anything in src/". */
export function inWords(pattern: Pattern): string {
  const parts = [
    toolWords(pattern.tool),
    pattern.command.length > 0 && `only ${commandWords(pattern.command)}`,
    pattern.paths.length > 0 && `only on ${listed(pattern.paths.map(pathWords), "or")}`,
    pattern.destination && `only to ${pattern.destination.replace(/^\*\./, "hosts under ")}`,
    pattern.definition && "only as the tool is defined now",
    pattern.folder && `only in ${pattern.folder}`,
  ];
  return parts.filter(Boolean).join(", ");
}

/** Return why a pattern is wider than people usually mean, or "". */
export function breadth(pattern: Pattern): string {
  const isOpen = !pattern.paths.length && !pattern.command.length && !pattern.destination;
  if (pattern.tool === "*" && isOpen) return "This covers every call of every tool.";
  if (pattern.paths.some((glob) => glob === "/**")) return "This covers every file of this machine.";
  if (pattern.command.length === 1 && pattern.command[0] === "*") return "This covers any command.";
  if (pattern.tool.endsWith("*") && isOpen) return "This covers everything that the tool can do, anywhere.";
  return "";
}

const same = (a: readonly string[], b: readonly string[]) => a.length === b.length && a.every((word, at) => word === b[at]);

/** Return the narrowest pattern that covers what all of these cover, or null when there is none worth having. */
export function covering(patterns: readonly Pattern[]): Pattern | null {
  const [first, ...others] = patterns;
  if (!first) return null;
  const isAlike = others.every(
    (other) =>
      other.tool === first.tool &&
      other.definition === first.definition &&
      other.destination === first.destination &&
      other.folder === first.folder &&
      same(other.command, first.command),
  );
  if (!isAlike || patterns.some((pattern) => pattern.paths.length > 0 !== first.paths.length > 0)) return null;
  return { ...first, paths: [...new Set(patterns.flatMap((pattern) => pattern.paths))] };
}

/** Split what was typed into words, as a shell would without acting on anything; quotes hold words together. */
export function words(typed: string): string[] {
  const found = typed.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g);
  return [...found].map(([, double, single, bare]) => double?.replace(/\\(.)/g, "$1") ?? single ?? bare ?? "");
}

/** Return words as they are typed. */
export const typed = (command: readonly string[]) =>
  command.map((word) => (/^[^\s"'\\]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
