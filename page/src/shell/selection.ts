import type { NativeTools, Selection, ServerView } from "../api/types";

/** The tools of a server that a conversation uses: all, none, or these. */
export type Chosen = "all" | "none" | readonly string[];

/** The provider's own tools as they are when nothing is said. */
export const unset: NativeTools = { webSearch: null, codeExecution: null, urlContext: null, imageGeneration: null };

/** Tell whether nothing is said of the provider's own tools. */
export const isUnset = (native: NativeTools) => Object.values(native).every((value) => value === null);

const names = (servers: readonly ServerView[]) => servers.filter((server) => server.enabled).map((server) => server.name);

/** Return what a conversation uses of a server; without a selection it is everything that is enabled. */
export function chosen(selection: Selection | null, server: ServerView): Chosen {
  if (!selection?.servers) return server.enabled ? "all" : "none";
  const choice = selection.servers.find(({ name }) => name === server.name || name === server.id);
  if (!choice) return "none";
  return choice.tools.length ? choice.tools : "all";
}

/** Return the selection with a server's part replaced; null when it says no more than the default does. */
export function choose(
  selection: Selection | null,
  servers: readonly ServerView[],
  server: ServerView,
  what: Chosen,
): Selection | null {
  const before = selection?.servers ?? names(servers).map((name) => ({ name, tools: [] as string[] }));
  const others = before.filter(({ name }) => name !== server.name && name !== server.id);
  const mine = what === "none" ? [] : [{ name: server.name, tools: what === "all" ? [] : [...what] }];
  // In the order of the list, so that the same choice is always the same selection.
  const order = new Map(servers.map(({ name }, at) => [name, at]));
  const chosenNow = [...others, ...mine].sort((a, b) => (order.get(a.name) ?? 0) - (order.get(b.name) ?? 0));
  const isDefault =
    chosenNow.every(({ tools }) => !tools.length) &&
    chosenNow.length === names(servers).length &&
    chosenNow.every(({ name }) => names(servers).includes(name));
  return selected(selection, { servers: isDefault ? null : chosenNow });
}

/** Return the selection with the provider's own tools replaced; null when it says no more than the default does. */
export function chooseNative(selection: Selection | null, nativeTools: NativeTools): Selection | null {
  return selected(selection, { nativeTools });
}

/** Return the selection with the built-in tools replaced, null for all; null when it says no more than the default does. */
export function chooseBuiltIn(selection: Selection | null, builtIn: string[] | null): Selection | null {
  return selected(selection, { builtIn });
}

/** Return the selection with a tool pinned or not; null when it says no more than the default does. */
export function togglePin(selection: Selection | null, tool: string): Selection | null {
  const before = selection?.pinned ?? [];
  const pinned = before.includes(tool) ? before.filter((name) => name !== tool) : [...before, tool].sort();
  return selected(selection, { pinned });
}

function selected(before: Selection | null, change: Partial<Selection>): Selection | null {
  const next = { servers: null, nativeTools: unset, builtIn: null, pinned: [], ...before, ...change };
  const isDefault = next.servers === null && next.builtIn === null && next.pinned.length === 0;
  return isDefault && isUnset(next.nativeTools) ? null : next;
}

/** Return what is chosen after one tool was switched. */
export function toggleTool(what: Chosen, all: readonly string[], tool: string): Chosen {
  const now = what === "all" ? all : what === "none" ? [] : what;
  const next = now.includes(tool) ? now.filter((name) => name !== tool) : all.filter((name) => now.includes(name) || name === tool);
  if (!next.length) return "none";
  return next.length === all.length ? "all" : next;
}
