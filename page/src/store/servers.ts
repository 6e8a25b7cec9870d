import { notifications } from "@mantine/notifications";
import type { ServerList } from "../api/types";
import { currentRoute } from "../shell/router";
import { setState, type ServerNotice } from "./store";

/** Take over what is new and keep what is the same, so that only rows that changed are drawn again. */
export function merged(before: ServerList, now: ServerList): ServerList {
  const known = new Map(before.servers.map((server) => [server.id, server]));
  const servers = now.servers.map((server) => {
    const old = known.get(server.id);
    return old && JSON.stringify(old) === JSON.stringify(server) ? old : server;
  });
  return { servers, problem: now.problem };
}

/** How often the socket told of servers. */
let told = 0;

const draw = (servers: ServerList) => setState((now) => ({ servers: merged(now.servers, servers) }));

/** Draw what the socket tells. */
export function hear(servers: ServerList): void {
  told += 1;
  draw(servers);
}

/** Ask for the servers; what the socket told meanwhile is newer than the answer, which is then dropped. */
export async function askFor<T>(ask: Promise<T>, serversOf: (answer: T) => ServerList): Promise<T> {
  const before = told;
  const answer = await ask;
  if (told === before) draw(serversOf(answer));
  return answer;
}

/** Tell whether a notice is about one MCP server: it passes, where others stay until they are no longer true. */
export const isAboutServer = ({ code }: ServerNotice): boolean => code.startsWith("server:");

const colors = { info: "sea", warning: "yellow", error: "red" } as const;

/** Tell whether the page shows how each server is. */
function showsServers(): boolean {
  const route = currentRoute();
  return (route.page === "settings" && route.tab === "mcp") || (route.page === "room" && route.room === "status");
}

/** Show a notice at the edge of the page for a while; where the servers are listed, their rows say it. */
export function toast({ level, message }: ServerNotice): void {
  if (showsServers()) return;
  notifications.show({ color: colors[level], message, autoClose: 8_000 });
}
