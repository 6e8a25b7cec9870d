import type { ServerInput, ServerView } from "../api/types";
import { understand } from "./commandLine";

/** A name with a value: of the environment, or a header. */
export interface Pair {
  /** Tells rows apart while they are edited. */
  key: number;
  name: string;
  value: string;
  isSecret: boolean;
  /** Whether a secret is kept already; an empty value then leaves it. */
  isKept: boolean;
}

/** A server as the form holds it; numbers are "" while nothing is said. */
export interface ServerDraft {
  id: string | null;
  name: string;
  line: string;
  env: Pair[];
  headers: Pair[];
  token: string;
  /** What happens to the token that is there: it stays, or it goes. */
  keptToken: "none" | "keep" | "remove";
  /** What stands as ${secret:NAME} in the other fields; an empty value leaves the secret that is there. */
  slots: { name: string; value: string }[];
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

export type DraftErrors = Partial<Record<"name" | "line" | "env" | "headers" | "token" | "cwd" | "certificate" | "total", string>>;

let keys = 0;

/** Return an empty row. */
export function newPair(fields: Partial<Pair> = {}): Pair {
  keys += 1;
  return { key: keys, name: "", value: "", isSecret: true, isKept: false, ...fields };
}

/** Return an empty form. */
export function newDraft(): ServerDraft {
  return {
    id: null,
    name: "",
    line: "",
    env: [],
    headers: [],
    token: "",
    keptToken: "none",
    slots: [],
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

const isSecret = (value: string) => value.startsWith("secret:");

function pairsOf(values: Record<string, string> | undefined): Pair[] {
  return Object.entries(values ?? {}).map(([name, value]) =>
    isSecret(value) ? newPair({ name, isKept: true }) : newPair({ name, value, isSecret: false }),
  );
}

const isToken = (pair: Pair) => pair.isKept && pair.name.toLowerCase() === "authorization";

/** Return a form filled with a server as it is. */
export function draftOf(server: ServerView): ServerDraft {
  const { settings } = server;
  const headers = pairsOf(settings.headers);
  return {
    id: server.id,
    name: server.name,
    line: settings.url || server.address,
    env: pairsOf(settings.env),
    headers: headers.filter((pair) => !isToken(pair)),
    token: "",
    keptToken: headers.some(isToken) ? "keep" : "none",
    slots: server.secretSlots.map((name) => ({ name, value: "" })),
    cwd: settings.cwd ?? "",
    certificate: settings.trusted_certificate ?? "",
    wire: settings.wire ?? "auto",
    era: settings.era ?? "auto",
    total: settings.times?.total ?? "",
    alwaysOn: settings.always_on ?? false,
    perConversation: settings.per_conversation ?? false,
    readOnly: settings.read_only ?? false,
    cannotSend: settings.cannot_send ?? false,
    sandbox: settings.sandbox ?? false,
    network: settings.network ?? true,
    rest: {
      enabled: server.enabled,
      offTools: settings.off_tools ?? [],
      toolTimes: settings.tool_times ?? {},
      roots: settings.roots ?? [],
      subprotocols: settings.subprotocols ?? [],
    },
  };
}

const blank = (pair: Pair) => !pair.name.trim() && !pair.value;

function pairError(pairs: readonly Pair[], pattern: RegExp, what: string): string | undefined {
  const used = pairs.filter((pair) => !blank(pair));
  for (const { name, value, isKept } of used) {
    if (!name.trim()) return `Give every ${what} a name.`;
    if (!pattern.test(name.trim())) return `“${name.trim()}” cannot be the name of a ${what}.`;
    if (!value && !isKept) return `Give ${name.trim()} a value, or remove it.`;
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
    line: lineError(draft.line),
    env: isUrl ? undefined : pairError(draft.env, /^[A-Za-z_]\w*$/, "variable"),
    headers: isUrl ? pairError(draft.headers, /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "header") : undefined,
    token: isUrl && /\s/.test(draft.token.trim()) ? "A token has no spaces or line breaks in it." : undefined,
    cwd: isUrl || !draft.cwd.trim() || /^([/~]|[A-Za-z]:[\\/])/.test(draft.cwd.trim()) ? undefined : "Write the whole path of the folder.",
    certificate: isUrl ? certificateError(draft.certificate) : undefined,
    total: secondsError(draft.total),
  };
  return Object.fromEntries(Object.entries(found).filter(([, sentence]) => sentence)) as DraftErrors;
}

function secrets(pairs: readonly Pair[]): Record<string, string | null> {
  const kept = pairs.filter((pair) => !blank(pair) && pair.isSecret);
  return Object.fromEntries(kept.map(({ name, value }) => [name.trim(), value || null]));
}

function plain(pairs: readonly Pair[]): Record<string, string> {
  const shown = pairs.filter((pair) => !blank(pair) && !pair.isSecret);
  return Object.fromEntries(shown.map(({ name, value }) => [name.trim(), value]));
}

/** A token is kept as this header; null leaves the one that is there. */
function keptToken({ token, keptToken: kept }: ServerDraft): Record<string, null> {
  return kept === "keep" && !token.trim() ? { Authorization: null } : {};
}

function place(draft: ServerDraft): Partial<ServerInput> {
  const meant = understand(draft.line);
  if (meant.kind === "url") {
    return {
      url: meant.url,
      wire: draft.wire,
      trustedCertificate: draft.certificate.trim() || null,
      token: draft.token.trim() || null,
      headers: { ...secrets(draft.headers), ...keptToken(draft) },
      plainHeaders: plain(draft.headers),
    };
  }
  return {
    commandLine: draft.line.trim(),
    cwd: draft.cwd.trim() || null,
    env: secrets(draft.env),
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
    secrets: Object.fromEntries(draft.slots.filter(({ value }) => value).map(({ name, value }) => [name, value])),
    era: draft.era,
    alwaysOn: draft.alwaysOn,
    perConversation: draft.perConversation,
    readOnly: draft.readOnly,
    cannotSend: draft.cannotSend,
    times: { total: draft.total === "" ? null : draft.total },
  } as ServerInput;
}
