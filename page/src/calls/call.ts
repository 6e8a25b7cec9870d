import type { Item } from "../api/types";
import { record, text } from "../chat/data";

// What a call's `data` holds beyond its phase; read without trusting it.

const number = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : null);

export interface Progress {
  done: number | null;
  total: number | null;
  message: string;
}

/** Return how far the server says it is, if it says anything. */
export function progressOf(item: Item): Progress | null {
  const told = record(item.data.progress);
  const progress = { done: number(told.done), total: number(told.total), message: text(told.message) };
  return progress.done === null && !progress.message ? null : progress;
}

/** Return the part that is done, from 0 to 1, or null when nobody knows. */
export function fraction(progress: Progress): number | null {
  if (progress.done === null || !progress.total || progress.total <= 0) return null;
  return Math.min(1, Math.max(0, progress.done / progress.total));
}

/** Seconds before its limit at which a call offers more time: enough to look up and decide. */
const OFFER_BEFORE = 30;

/** Return the seconds left before a call is given up, or null while that is not worth saying. */
export function secondsLeft(item: Item, nowMs: number): number | null {
  const deadline = number(item.data.deadlineAt);
  const limit = number(item.data.timeoutSeconds);
  if (deadline === null || item.data.phase !== "executing") return null;
  const left = deadline - nowMs / 1000;
  return left <= Math.min(OFFER_BEFORE, (limit ?? OFFER_BEFORE) * 0.5) ? Math.max(0, left) : null;
}

/** Return for how many seconds nothing was heard of a call at work, or null while that is not worth saying. */
export function silentFor(item: Item, nowMs: number): number | null {
  const since = number(item.data.quietSince);
  return since === null || item.data.phase !== "executing" ? null : Math.max(0, Math.floor(nowMs / 1000 - since));
}

/** Return which tool of which server a call was of: its definition names both. */
export function toolOf(item: Item): { serverId: string; tool: string } | null {
  const [serverId, ...rest] = text(item.data.definition).split(":");
  return serverId && rest.length > 1 ? { serverId, tool: rest.slice(0, -1).join(":") } : null;
}

export interface ResultPart {
  index: number;
  kind: "text" | "json" | "image" | "audio" | "link" | "resource";
  text: string;
  mediaType: string;
  name: string;
  uri: string;
  bytes: number;
  /** Of a picture, as it says itself; absent where it does not. */
  width?: number;
  height?: number;
}

const nothing: ResultPart = { index: 0, kind: "text", text: "", mediaType: "", name: "", uri: "", bytes: 0 };
/** More than any line shows. */
const LINE_CHARS = 300;
const kinds = ["text", "json", "image", "audio", "link", "resource"] as const;

/** Return the parts of a message, or of a result as the server of the tool gave them. */
export function partsOf(item: Item): ResultPart[] {
  const content = Array.isArray(item.data.content) ? item.data.content : [];
  return content.map(record).map((part, at) => ({
    index: number(part.index) ?? at,
    kind: kinds.find((kind) => kind === part.kind) ?? "text",
    text: text(part.text),
    mediaType: text(part.mediaType),
    name: text(part.name),
    uri: text(part.uri),
    bytes: number(part.bytes) ?? 0,
    width: number(part.width) ?? 0,
    height: number(part.height) ?? 0,
  }));
}

/** Tell whether a piece is text that is too long for the timeline; files are fetched by their links. */
function isLeftOut(part: ResultPart): boolean {
  if (part.text || !part.bytes) return false;
  if (part.kind === "text" || part.kind === "json") return true;
  return part.kind === "resource" && !/^((image|audio)\/|application\/octet-stream)/.test(part.mediaType);
}

/** Return the pieces that the timeline has; a single text that was left out is the call's own, as the model read it. */
export function shownParts(item: Item): ResultPart[] {
  const parts = partsOf(item);
  if (!parts.length && item.text) return [{ ...nothing, text: item.text }];
  return parts.length === 1 ? parts.map((part) => (isLeftOut(part) ? { ...part, text: item.text } : part)) : parts;
}

/** Return the bytes of text that are kept and not shown, or 0 when everything is shown. */
export function leftOut(item: Item): number {
  const parts = partsOf(item).filter(isLeftOut);
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  const isWhole = partsOf(item).length === 1 && new TextEncoder().encode(item.text).length === bytes;
  return isWhole ? 0 : bytes;
}

/** Return a call's arguments in a few words. */
export function inOneLine(item: Item): string {
  const entries = Object.entries(record(item.data.arguments));
  const words = entries.map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return words.join(", ").slice(0, LINE_CHARS).replace(/\s+/g, " ");
}

/** Return the tool's name as people read it. */
export const toolName = (item: Item) => text(item.data.serverTool) || text(item.data.tool) || "A tool";

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
export function remarks({ data }: Item): string[] {
  const attempts = number(data.attempts) ?? 1;
  const hidden = number(data.hiddenCharacters) ?? 0;
  return [
    attempts > 1 ? `It took ${attempts} attempts.` : "",
    hidden ? `${hidden} invisible ${hidden === 1 ? "character was" : "characters were"} removed from what the model reads.` : "",
    text(data.serverFault),
  ].filter(Boolean);
}

/** The exit code of a command that ran and did not succeed. */
export function failedCode(item: Item): number | null {
  const code = number(item.data.exitCode);
  return code === null || code === 0 ? null : code;
}
