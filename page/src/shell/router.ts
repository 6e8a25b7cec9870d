import { useSyncExternalStore } from "react";

export const settingsTabs = [
  "general",
  "models",
  "mcp",
  "memory",
  "permissions",
  "prompts",
  "terminal",
  "web",
  "usage",
  "operation",
] as const;
export type SettingsTab = (typeof settingsTabs)[number];

/** Rooms about the MCP servers, beside the chat. */
export const rooms = ["tools", "status", "traffic"] as const;
export type Room = (typeof rooms)[number];

/** The replays of an answer: which run's, and which of them is shown; null for a new one. */
export interface ReplayRoute {
  runId: string;
  branch: number | null;
}

export type Route =
  | { page: "chat"; conversationId: string | null; itemId: string | null; branch: number | null; replay: ReplayRoute | null }
  | { page: "settings"; tab: SettingsTab }
  | { page: "waiting" }
  | { page: "topic"; topicId: string | null }
  | { page: "callback" }
  | { page: "room"; room: Room };

/** Where a browser comes back to after its person signed in to a server. */
export const callbackPath = "/oauth/callback";

function replayOf(asked: URLSearchParams): ReplayRoute | null {
  const runId = asked.get("replay");
  const branch = Number(asked.get("with"));
  return runId ? { runId, branch: Number.isInteger(branch) && branch > 0 ? branch : null } : null;
}

/** Return what an address names; anything unknown is the start page. */
export function parseRoute(path: string, query = ""): Route {
  const [first, second] = path.split("/").filter(Boolean);
  if (first === "settings") {
    return { page: "settings", tab: settingsTabs.find((tab) => tab === second) ?? "general" };
  }
  if (path === callbackPath) return { page: "callback" };
  if (first === "waiting" && !second) return { page: "waiting" };
  if (first === "topic" && second) return { page: "topic", topicId: decodeURIComponent(second) };
  if (first === "topics" && !second) return { page: "topic", topicId: null };
  const room = rooms.find((name) => name === first);
  if (room && !second) return { page: "room", room };
  const asked = new URLSearchParams(query);
  const named = asked.get("branch") ?? "";
  const conversationId = first === "c" && second ? decodeURIComponent(second) : null;
  const branch = /^\d{1,6}$/.test(named) ? Number(named) : null;
  return { page: "chat", conversationId, itemId: asked.get("item"), branch, replay: conversationId ? replayOf(asked) : null };
}

export const conversationPath = (id: string) => `/c/${encodeURIComponent(id)}`;
/** The address of an item; where its branch is known it need not be looked for. */
export const itemPath = (id: string, itemId: string, branch: number | null = null) =>
  `${conversationPath(id)}?item=${encodeURIComponent(itemId)}${branch === null ? "" : `&branch=${branch}`}`;
/** The address of the replays of a run. */
export const replayPath = (id: string, runId: string, branch: number | null = null) =>
  `${conversationPath(id)}?replay=${encodeURIComponent(runId)}${branch === null ? "" : `&with=${branch}`}`;
/** The address of a path of a conversation. */
export const branchPath = (id: string, branch: number) => `${conversationPath(id)}?branch=${branch}`;
export const waitingPath = "/waiting";
export const topicsPath = "/topics";
export const topicPath = (id: string) => `/topic/${encodeURIComponent(id)}`;
export const roomPath = (room: Room) => `/${room}`;
export const settingsPath = (tab: SettingsTab) => `/settings/${tab}`;
export const keyPath = (serverId: string) => `${settingsPath("mcp")}?key=${encodeURIComponent(serverId)}`;
export const signInPath = (serverId: string) => `${settingsPath("mcp")}?sign-in=${encodeURIComponent(serverId)}`;

const listeners = new Set<() => void>();
let current: { key: string; route: Route } | null = null;

/** Return the route of the address bar; the same object while the address is the same. */
export function currentRoute(): Route {
  const key = location.pathname + location.search;
  if (current?.key !== key) current = { key, route: parseRoute(location.pathname, location.search) };
  return current.route;
}

/** Go to an address of the page without loading anything anew. */
export function navigate(path: string, how: "push" | "replace" = "push"): void {
  if (path === location.pathname + location.search) return;
  history[how === "push" ? "pushState" : "replaceState"](null, "", path);
  for (const listener of listeners) listener();
}

/** Call back whenever the address changes; returns how to stop. */
export function onRoute(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("popstate", listener);
  };
}

/** Draw with the current route. */
export function useRoute(): Route {
  return useSyncExternalStore(onRoute, currentRoute);
}
