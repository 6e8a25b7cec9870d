import type { Selection, ServerView } from "../api/types";

/** The tools of a server that a conversation uses: all, none, or these. */
export type Chosen = "all" | "none" | readonly string[];

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
  const nativeTools = selection?.nativeTools ?? { webSearch: null, codeExecution: null, urlContext: null };
  const isNativeDefault = Object.values(nativeTools).every((value) => value === null);
  if (isDefault && isNativeDefault) return null;
  return { servers: isDefault ? null : chosenNow, nativeTools };
}

/** Return what is chosen after one tool was switched. */
export function toggleTool(what: Chosen, all: readonly string[], tool: string): Chosen {
  const now = what === "all" ? all : what === "none" ? [] : what;
  const next = now.includes(tool) ? now.filter((name) => name !== tool) : all.filter((name) => now.includes(name) || name === tool);
  if (!next.length) return "none";
  return next.length === all.length ? "all" : next;
}
