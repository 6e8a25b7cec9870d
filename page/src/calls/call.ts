import type { BuiltInTool, CallItem, Progress, ResponseItem, ResultPart, UserMessageItem } from "../api/types";

/** Return how far the server says it is, if it says anything. */
export function progressOf({ data: { progress } }: CallItem): Progress | null {
  return progress && (typeof progress.done === "number" || progress.message) ? progress : null;
}

/** Return the part that is done, from 0 to 1, or null when nobody knows. */
export function fraction({ done, total }: Progress): number | null {
  if (typeof done !== "number" || !total || total <= 0) return null;
  return Math.min(1, Math.max(0, done / total));
}

/** Seconds before its limit at which a call offers more time: enough to look up and decide. */
const OFFER_BEFORE = 30;

/** Return the seconds left before a call is given up, or null while that is not worth saying. */
export function secondsLeft({ data: { phase, deadlineAt, timeoutSeconds } }: CallItem, nowMs: number): number | null {
  if (!deadlineAt || phase !== "executing") return null;
  const left = deadlineAt - nowMs / 1000;
  return left <= Math.min(OFFER_BEFORE, (timeoutSeconds ?? OFFER_BEFORE) * 0.5) ? Math.max(0, left) : null;
}

/** Return for how many seconds nothing was heard of a call at work, or null while that is not worth saying. */
export function silentFor({ data: { phase, quietSince } }: CallItem, nowMs: number): number | null {
  return !quietSince || phase !== "executing" ? null : Math.max(0, Math.floor(nowMs / 1000 - quietSince));
}

/** Return which tool of which server a call was of: its definition names both. */
export function toolOf({ data: { definition = "" } }: CallItem): { serverId: string; tool: string } | null {
  const [server = "", ...rest] = definition.split(":");
  // Behind its id stands where it was.
  const serverId = server.replace(/@[0-9a-f]{12}$/, "");
  return serverId && rest.length > 1 ? { serverId, tool: rest.slice(0, -1).join(":") } : null;
}

const nothing: ResultPart = { index: 0, kind: "text", text: "", mediaType: "", name: "", uri: "", bytes: 0, digest: "", width: 0, height: 0, at: 0 };
/** More than any line shows. */
const LINE_CHARS = 300;

/** Return the parts of a message, of an answer, or of a result as the server of the tool gave them. */
export const partsOf = ({ data: { content = [] } }: UserMessageItem | ResponseItem | CallItem): readonly ResultPart[] => content;

/** Tell whether a piece is text that is too long for the timeline; files are fetched by their links. */
function isLeftOut(part: ResultPart): boolean {
  if (part.text || !part.bytes) return false;
  if (part.kind === "text" || part.kind === "json") return true;
  return part.kind === "resource" && !/^((image|audio)\/|application\/octet-stream)/.test(part.mediaType);
}

/** Return the pieces that the timeline has; a single text that was left out is the call's own, as the model read it. */
export function shownParts(item: CallItem): readonly ResultPart[] {
  const parts = partsOf(item);
  if (!parts.length && item.text) return [{ ...nothing, text: item.text }];
  return parts.length === 1 ? parts.map((part) => (isLeftOut(part) ? { ...part, text: item.text } : part)) : parts;
}

/** Return the bytes of text that are kept and not shown, or 0 when everything is shown. */
export function leftOut(item: CallItem): number {
  const parts = partsOf(item).filter(isLeftOut);
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  const isWhole = partsOf(item).length === 1 && new TextEncoder().encode(item.text).length === bytes;
  return isWhole ? 0 : bytes;
}

/** Return a call's arguments in a few words; a single text says by itself what it is. */
export function inOneLine({ data: { arguments: given } }: CallItem): string {
  const all = Object.entries(given ?? {});
  const words = all.map(([name, value]) => {
    const said = typeof value === "string" ? value : JSON.stringify(value);
    return all.length === 1 && said === value ? said : `${name}: ${said}`;
  });
  return words.join(", ").slice(0, LINE_CHARS).replace(/\s+/g, " ");
}

/** Return the tool's name as people read it. */
export const toolName = ({ data: { serverTool, tool } }: CallItem) => serverTool || tool || "A tool";

/** Return the value of a text that is JSON with something in it, or undefined. */
export function parsed(source: string): unknown {
  const start = source.trimStart()[0];
  if ((start !== "{" && start !== "[") || source.length > 2_000_000) return undefined;
  try {
    return JSON.parse(source) as unknown;
  } catch {
    return undefined;
  }
}

/** Return what is worth a sentence about how the result came. */
export function remarks({ data: { attempts = 1, hiddenCharacters: hidden = 0, serverFault = "" } }: CallItem): string[] {
  return [
    attempts > 1 ? `It took ${attempts} attempts.` : "",
    hidden ? `${hidden} invisible ${hidden === 1 ? "character was" : "characters were"} removed from what the model reads.` : "",
    serverFault,
  ].filter(Boolean);
}

/** Return whose tool it was, in words: "berths of Harbour", "Files"; how it is named to the model is no word for people. */
export function whose(item: CallItem, builtIn: readonly Pick<BuiltInTool, "name" | "label">[]): string {
  const { server } = item.data;
  const name = toolName(item);
  if (server) return `${name.slice(name.indexOf(".") + 1)} of ${server}`;
  return builtIn.find((tool) => tool.name === name)?.label ?? name;
}

/** Return the tool's name as a row has it: "harbour: tides". */
export const rowName = (item: CallItem) => (item.data.server ? toolName(item).replace(".", ": ") : toolName(item));
