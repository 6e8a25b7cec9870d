import type { Pattern } from "../api/authority";

export type { Pattern };

export const anything: Pattern = {
  tool: "*",
  definition: "",
  paths: [],
  command: [],
  destination: "",
  sources: null,
  folder: "",
};

/** Return a pattern with everything that it leaves open; null when there is none. */
export const patternOf = (told: Partial<Pattern> | null | undefined): Pattern | null =>
  told && Object.keys(told).length ? { ...anything, ...told } : null;

/** One name for what changes files without deleting any. */
const EDITS = "file_operations.edits";
const editing = new Set(
  ["create_file", "insert_edit", "replace_string", "multi_replace_string", "apply_patch", "rename_file"].map((name) => `file_operations.${name}`),
);

/** Tell whether a pattern's tool is about an operation. */
export const isAbout = (tool: string, operation: string): boolean =>
  tool === "*" ||
  tool === operation ||
  (tool === EDITS && editing.has(operation)) ||
  (tool.endsWith(".*") && operation.startsWith(tool.slice(0, -1)));

function toolWords(tool: string): string {
  if (tool === "*") return "every tool";
  if (tool === EDITS) return "creating, changing and moving files";
  if (tool.endsWith(".*")) return `every operation of ${tool.slice(0, -2)}`;
  return tool;
}

function listed(words: readonly string[], joint: string): string {
  return words.length < 3 ? words.join(` ${joint} `) : `${words.slice(0, -1).join(", ")} ${joint} ${words.at(-1)}`;
}

function pathWords(glob: string): string {
  if (glob === "**") return "files in the working directory";
  if (glob === "/**") return "any file of this machine";
  if (glob === "*") return "files directly in the working directory";
  if (glob.endsWith("/**")) return `files in ${glob.slice(0, -2)}`;
  if (glob.endsWith("/*")) return `files directly in ${glob.slice(0, -1)}`;
  return glob;
}

function commandWords(words: readonly string[]): string {
  const fixed = words.at(-1) === "*" ? words.slice(0, -1) : words;
  const shown = fixed.map((word) => (/^[^\s"'\\]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
  if (fixed.length === words.length) return `the command “${shown}”, exactly`;
  return fixed.length ? `“${shown}” with any further words that are not options` : "any command";
}

function sourceWords(sources: readonly string[] | null): string {
  if (!sources) return "";
  if (!sources.length) return "with nothing private";
  const named = sources.map((source) => (source === "files" ? "your files" : source.replace(/^server:/, "").replace(/@[0-9a-f]{12}$/, "")));
  return `also with what was read from ${listed(named, "and")}`;
}

/** Return where a pattern holds; a whole working directory is said by its name. */
function placeWords({ paths, folder }: Pattern): string[] {
  if (folder && paths.length === 1 && paths[0] === "**") return [`only on files in ${folder}`];
  return [paths.length ? `only on ${listed(paths.map(pathWords), "or")}` : "", folder && `only in ${folder}`];
}

/** Return what a pattern covers, in words: "file_operations.create_file, only on files in src/". */
export function inWords(pattern: Pattern): string {
  const [paths, folder] = placeWords(pattern);
  const parts = [
    toolWords(pattern.tool),
    pattern.command.length > 0 && `only ${commandWords(pattern.command)}`,
    paths,
    pattern.destination && `only to ${pattern.destination.replace(/^\*\./, "hosts under ")}`,
    sourceWords(pattern.sources),
    pattern.definition && (pattern.definition.endsWith(":") ? "only of this very server" : "only as the tool is defined now"),
    folder,
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
      same(other.sources ?? [], first.sources ?? []) &&
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
