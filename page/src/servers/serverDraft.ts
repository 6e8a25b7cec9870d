import type { ServerInput, ServerView } from "../api/types";
import { understand } from "./commandLine";
import { keyErrors, keyInputs, keysOf, type KeyDraft } from "./serverKeys";

/** A name with a value that is no secret: of the environment, or a header. */
export interface Pair {
  /** Tells rows apart while they are edited. */
  key: number;
  name: string;
  value: string;
}

/** A server as the form holds it; numbers are "" while nothing is said. */
export interface ServerDraft {
  id: string | null;
  name: string;
  line: string;
  /** The bundle that it came in, with what starts it in there; then the line is only shown. */
  bundle: Pick<ServerInput, "bundle" | "command" | "args"> | null;
  env: Pair[];
  headers: Pair[];
  keys: KeyDraft[];
  cwd: string;
  /** The fingerprint of the one certificate that is trusted. */
  certificate: string;
  wire: NonNullable<ServerInput["wire"]>;
  era: NonNullable<ServerInput["era"]>;
  total: number | "";
  alwaysOn: boolean;
  perConversation: boolean;
  readOnly: boolean;
  cannotSend: boolean;
  sandbox: boolean;
  /** Whether it may use the network in its sandbox. */
  network: boolean;
  /** What the form does not show and must not lose. */
  rest: Pick<ServerInput, "enabled" | "offTools" | "toolTimes" | "roots" | "subprotocols">;
}

/** What is wrong with a field; with a key, by its row. */
export type DraftErrors = Partial<
  Record<"name" | "line" | "env" | "headers" | "cwd" | "certificate" | "total" | `key ${number}`, string>
>;

let rows = 0;

/** Return an empty row. */
export function newPair(fields: Partial<Pair> = {}): Pair {
  rows += 1;
  return { key: rows, name: "", value: "", ...fields };
}

/** Return an empty form. */
export function newDraft(): ServerDraft {
  return {
    id: null,
    name: "",
    line: "",
    bundle: null,
    env: [],
    headers: [],
    keys: keysOf(null),
    cwd: "",
    certificate: "",
    wire: "auto",
    era: "auto",
    total: "",
    alwaysOn: false,
    perConversation: false,
    readOnly: false,
    cannotSend: false,
    sandbox: false,
    network: true,
    rest: { enabled: true },
  };
}

/** What is kept as a secret is a key, and not shown here. */
function pairsOf(values: Record<string, string> | undefined): Pair[] {
  const shown = Object.entries(values ?? {}).filter(([, value]) => !value.startsWith("secret:"));
  return shown.map(([name, value]) => newPair({ name, value }));
}

function bundleOf({ package: { type, identifier, runtimeHint }, settings }: ServerView): ServerDraft["bundle"] {
  return type === "mcpb" ? { bundle: identifier, command: runtimeHint ?? "", args: settings.args ?? [] } : null;
}

/** Return a form filled with a server as it is. */
export function draftOf(server: ServerView): ServerDraft {
  const { settings } = server;
  return {
    id: server.id,
    name: server.name,
    line: settings.url || server.address,
    bundle: bundleOf(server),
    env: pairsOf(settings.env),
    headers: pairsOf(settings.headers),
    keys: keysOf(server),
    cwd: settings.cwd ?? "",
    certificate: settings.trustedCertificate ?? "",
    wire: settings.wire ?? "auto",
    era: settings.era ?? "auto",
    total: settings.times?.total ?? "",
    alwaysOn: settings.alwaysOn ?? false,
    perConversation: settings.perConversation ?? false,
    readOnly: settings.readOnly ?? false,
    cannotSend: settings.cannotSend ?? false,
    sandbox: settings.sandbox ?? false,
    network: settings.network ?? true,
    rest: {
      enabled: server.enabled,
      offTools: settings.offTools ?? [],
      toolTimes: settings.toolTimes ?? {},
      roots: settings.roots ?? [],
      subprotocols: settings.subprotocols ?? [],
    },
  };
}

const blank = (pair: Pair) => !pair.name.trim() && !pair.value;

function pairError(pairs: readonly Pair[], pattern: RegExp, what: string): string | undefined {
  const used = pairs.filter((pair) => !blank(pair));
  for (const { name, value } of used) {
    if (!name.trim()) return `Give every ${what} a name.`;
    if (!pattern.test(name.trim())) return `“${name.trim()}” cannot be the name of a ${what}.`;
    if (!value) return `Give ${name.trim()} a value, or remove it.`;
    if (/[\r\n\0]/.test(value)) return `The value of ${name.trim()} must be one line.`;
  }
  const names = used.map((pair) => pair.name.trim().toLowerCase());
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  return twice ? `“${twice}” stands there twice.` : undefined;
}

function lineError(line: string): string | undefined {
  const meant = understand(line);
  if (meant.kind === "empty") return "Write a command or an address.";
  return meant.kind === "bad" ? meant.why : undefined;
}

function certificateError(typed: string): string | undefined {
  const digits = typed.trim().replace(/^sha-?256:/i, "").replace(/:/g, "");
  return !digits || /^[0-9a-f]{64}$/i.test(digits) ? undefined : "A SHA-256 fingerprint has 64 digits from 0 to f.";
}

/** A day: what takes longer is no call any more. */
const MOST_SECONDS = 86_400;

/** Return what is wrong with a call's time. */
export function secondsError(value: number | ""): string | undefined {
  return value === "" || (value > 0 && value <= MOST_SECONDS) ? undefined : `A number of seconds from 1 to ${MOST_SECONDS}.`;
}

/** Return one sentence for each field that cannot stay as it is. */
export function check(draft: ServerDraft): DraftErrors {
  const isUrl = understand(draft.line).kind === "url";
  const found: Record<string, string | undefined> = {
    name: draft.id && !draft.name.trim() ? "Give the server a name." : undefined,
    line: draft.bundle ? undefined : lineError(draft.line),
    env: isUrl ? undefined : pairError(draft.env, /^[A-Za-z_]\w*$/, "variable"),
    headers: isUrl ? pairError(draft.headers, /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "header") : undefined,
    cwd: isUrl || !draft.cwd.trim() || /^([/~]|[A-Za-z]:[\\/])/.test(draft.cwd.trim()) ? undefined : "Write the whole path of the folder.",
    certificate: isUrl ? certificateError(draft.certificate) : undefined,
    total: secondsError(draft.total),
    ...keyErrors(draft.keys, isUrl),
  };
  return Object.fromEntries(Object.entries(found).filter(([, sentence]) => sentence)) as DraftErrors;
}

function plain(pairs: readonly Pair[]): Record<string, string> {
  const shown = pairs.filter((pair) => !blank(pair));
  return Object.fromEntries(shown.map(({ name, value }) => [name.trim(), value]));
}

function place(draft: ServerDraft): Partial<ServerInput> {
  const meant = understand(draft.line);
  if (meant.kind === "url") {
    return {
      url: meant.url,
      wire: draft.wire,
      trustedCertificate: draft.certificate.trim() || null,
      plainHeaders: plain(draft.headers),
    };
  }
  return {
    ...(draft.bundle ?? { commandLine: draft.line.trim() }),
    cwd: draft.cwd.trim() || null,
    plainEnv: plain(draft.env),
    sandbox: draft.sandbox,
    network: draft.network || !draft.sandbox,
  };
}

/** Return what the server is sent for a form without errors. */
export function toInput(draft: ServerDraft): ServerInput {
  return {
    ...draft.rest,
    ...place(draft),
    name: draft.name.trim(),
    keys: keyInputs(draft.keys, understand(draft.line).kind === "url"),
    era: draft.era,
    alwaysOn: draft.alwaysOn,
    perConversation: draft.perConversation,
    readOnly: draft.readOnly,
    cannotSend: draft.cannotSend,
    times: { total: draft.total === "" ? null : draft.total },
  } as ServerInput;
}
