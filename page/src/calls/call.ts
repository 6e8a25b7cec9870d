import type { Item } from "../api/types";
import { text } from "../chat/data";

// What a call's `data` holds beyond its phase; read without trusting it.

const record = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
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

/** Seconds before its limit at which a call offers more time. */
const OFFER_BEFORE = 10;

/** Return the seconds left before a call is given up, or null while that is not worth saying. */
export function secondsLeft(item: Item, nowMs: number): number | null {
  const deadline = number(item.data.deadlineAt);
  const limit = number(item.data.timeoutSeconds);
  if (deadline === null || item.data.phase !== "executing") return null;
  const left = deadline - nowMs / 1000;
  return left <= Math.min(OFFER_BEFORE, (limit ?? OFFER_BEFORE) * 0.5) ? Math.max(0, left) : null;
}

export interface ResultPart {
  index: number;
  kind: "text" | "json" | "image" | "audio" | "link" | "resource";
  text: string;
  mediaType: string;
  name: string;
  uri: string;
  bytes: number;
}

const kinds = ["text", "json", "image", "audio", "link", "resource"] as const;

/** Return the pieces of a result as the server of the tool gave them. */
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
  }));
}

/** Tell whether more of the result is kept than the timeline shows. */
export const isCut = (item: Item) =>
  item.data.cut === true || partsOf(item).some((part) => part.kind === "text" && part.bytes > part.text.length + 4);

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
