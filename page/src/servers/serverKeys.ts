import type { KeyInput, ProposalField, ServerKey, ServerView } from "../api/types";

/** Where a key comes from; what is pasted is kept as a secret, of the others only the way to them. */
export type KeySource = "paste" | "file" | "environment" | "sign-in";
type Typed = Exclude<KeySource, "sign-in">;

/** A key as the form holds it. */
export interface KeyDraft {
  /** Tells rows apart while they are edited. */
  row: number;
  /** What the server knows it by; "" for one that the person names. */
  id: string;
  /** The name of a variable or header, of one that the person names. */
  name: string;
  label: string;
  /** What the server, or who describes it, says about it. */
  about: string;
  /** Where to get one, as who describes it says; "" where nobody does. */
  link: string;
  /** Whether it is told that nothing works without it. */
  isNeeded: boolean;
  /** Where the one that is there comes from. */
  kept: ServerKey["source"];
  from: KeySource;
  typed: Record<Typed, string>;
  /** What was typed when nothing was changed yet. */
  before: { from: KeySource; typed: Record<Typed, string> };
}

/** The one key that every address may have. */
export const TOKEN = "header:Authorization";

const sources: Record<ServerKey["source"], Typed> = { missing: "paste", pasted: "paste", file: "file", environment: "environment" };

let rows = 0;

function keyOf({ id, label, source, path, variable, about }: ServerKey): KeyDraft {
  rows += 1;
  const before = { from: sources[source], typed: { paste: "", file: path, environment: variable } };
  return { row: rows, id, name: "", label, about, link: "", isNeeded: false, kept: source, ...before, before };
}

const unknown = (id: string, label: string): ServerKey => ({ id, label, source: "missing", path: "", variable: "", about: "" });

/** Return a key that the person names. */
export function namedKey(name = "", value = ""): KeyDraft {
  const empty = keyOf(unknown("", ""));
  return { ...empty, name, typed: { ...empty.typed, paste: value } };
}

/** Return a key that whoever describes a server says it takes. */
export function describedKey({ id, label, about, link, required }: Pick<ProposalField, "id" | "label" | "about" | "link" | "required">): KeyDraft {
  return { ...keyOf({ ...unknown(id, label), about }), link, isNeeded: required };
}

/** Return the token that an address may have; whoever is signed in has none. */
function token(from: "paste" | "sign-in"): KeyDraft {
  const empty = keyOf(unknown(TOKEN, "Token"));
  return { ...empty, from, before: { ...empty.before, from } };
}

/** Return the keys of a form: those of the server, and the token that an address may have. */
export function keysOf(server: Pick<ServerView, "keys" | "signedIn"> | null): KeyDraft[] {
  const found = (server?.keys ?? []).map((key) => keyOf(key));
  if (found.some(({ id }) => id === TOKEN)) return found;
  return [...found, token(server?.signedIn ? "sign-in" : "paste")];
}

/** Return the keys of a form with those that a check came to know; what was typed stays. */
export function withFound(keys: readonly KeyDraft[], found: readonly ServerKey[]): KeyDraft[] {
  const said = new Map(found.map((key) => [key.id, key.about]));
  const known = keys.map((key) => ({ ...key, about: said.get(key.id) ?? key.about }));
  const ids = new Set(keys.flatMap(({ id, name }) => [id, `env:${name}`, `header:${name}`]));
  return [...known, ...found.filter(({ id, source }) => source === "missing" && !ids.has(id)).map((key) => keyOf(key))];
}

/** Tell whether a key is one of an address, or of a command. */
export function fits({ id }: KeyDraft, isUrl: boolean): boolean {
  return isUrl ? !id.startsWith("env:") : !id.startsWith("header:");
}

/** Tell whether something is given: typed, or kept and untouched. */
const isGiven = (key: KeyDraft) => key.from !== "sign-in" && (key.typed[key.from].trim() !== "" || isKept(key));

/** Tell whether the key that is there stays. */
export const isKept = ({ kept, from, typed, before }: KeyDraft): boolean =>
  kept !== "missing" && from === before.from && from !== "sign-in" && typed[from] === before.typed[from];

/** Take away what is kept and what was typed; the field stays, to be filled or not. */
export const emptied = (key: KeyDraft): KeyDraft => ({ ...key, kept: "missing", typed: { paste: "", file: "", environment: "" } });

function named({ name, label, from, typed }: KeyDraft, isUrl: boolean, hasValue: boolean): string | undefined {
  const what = isUrl ? "header" : "variable";
  const pattern = isUrl ? /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/ : /^[A-Za-z_]\w*$/;
  if (!name.trim()) return hasValue ? `Give every ${what} a name.` : undefined;
  if (!pattern.test(name.trim())) return `“${name.trim()}” cannot be the name of a ${what}.`;
  return hasValue || from === "sign-in" || typed[from] ? undefined : `Give ${label || name.trim()} a value, or remove it.`;
}

/** Return what is wrong with a key, in one sentence. */
function keyError(key: KeyDraft, isUrl: boolean): string | undefined {
  const typed = key.from === "sign-in" ? "" : key.typed[key.from].trim();
  const wrong = key.id ? undefined : named(key, isUrl, typed !== "");
  if (!wrong && key.isNeeded && !isGiven(key) && key.from !== "sign-in") return "This is needed.";
  if (wrong || !typed || isKept(key)) return wrong;
  if (key.from === "file") return /^([/~]|[A-Za-z]:[\\/])/.test(typed) ? undefined : "Write the whole path of the file, such as ~/.github_token.";
  if (key.from === "environment") return /^[A-Za-z_]\w*$/.test(typed) ? undefined : `“${typed}” cannot be the name of a variable.`;
  return key.id === TOKEN && /\s/.test(typed) ? "A token has no spaces or line breaks in it." : undefined;
}

const idOf = ({ id, name }: KeyDraft, isUrl: boolean) => id || `${isUrl ? "header" : "env"}:${name.trim()}`;

function inputOf(key: KeyDraft): KeyInput | null {
  if (isKept(key)) return null;
  const typed = key.from === "sign-in" ? "" : key.typed[key.from].trim();
  if (key.from === "file") return { file: typed };
  return key.from === "environment" ? { environment: typed } : { value: typed };
}

/** Return what is wrong with the keys, by row. */
export function keyErrors(all: readonly KeyDraft[], isUrl: boolean): Record<string, string | undefined> {
  const keys = all.filter((key) => fits(key, isUrl));
  const isTwice = (key: KeyDraft) => key.name.trim() && keys.filter((other) => idOf(other, isUrl) === idOf(key, isUrl)).length > 1;
  return Object.fromEntries(
    keys.map((key) => [`key ${key.row}`, isTwice(key) ? `“${key.name.trim()}” stands there twice.` : keyError(key, isUrl)]),
  );
}

/** Return what the server is sent of the keys: null keeps one, and one that is left out goes. */
export function keyInputs(keys: readonly KeyDraft[], isUrl: boolean): Record<string, KeyInput | null> {
  const given = keys.filter((key) => fits(key, isUrl) && isGiven(key));
  return Object.fromEntries(given.map((key) => [idOf(key, isUrl), inputOf(key)]));
}

/** States in which it is known what a server lacks, and someone may care. */
const settled: ReadonlySet<ServerView["state"]> = new Set(["connected", "idle", "error", "disconnected"]);

/** Return the keys that a server in use said it lacks. */
export const lacking = ({ state, keys }: Pick<ServerView, "state" | "keys">): ServerKey[] =>
  settled.has(state) ? keys.filter(({ source }) => source === "missing") : [];

/** Return the keys of a server that are worth a word: a token is none that it lacks while it wants a sign-in. */
export const told = (server: Pick<ServerView, "state" | "keys">): ServerKey[] =>
  server.keys.filter((key) => key.source !== "missing" || lacking(server).includes(key));
