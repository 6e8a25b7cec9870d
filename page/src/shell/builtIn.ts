import type { BuiltInTool } from "../api/types";

type Tools = readonly BuiltInTool[];

/** Return what is chosen after one tool was switched; null again once it is all of them. A name not known here stays. */
export function toggleBuiltIn(all: Tools, value: readonly string[] | null, name: string): string[] | null {
  const now = value ?? all.map((tool) => tool.name);
  const next = now.includes(name) ? now.filter((one) => one !== name) : [...now, name];
  return all.every((tool) => next.includes(tool.name)) ? null : inOrder(all, next);
}

function inOrder(all: Tools, names: readonly string[]): string[] {
  const place = new Map(all.map((tool, at) => [tool.name, at]));
  return [...names].sort((a, b) => (place.get(a) ?? all.length) - (place.get(b) ?? all.length));
}
