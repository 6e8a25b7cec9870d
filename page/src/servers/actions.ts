import { api } from "../api/client";
import type { ServerView } from "../api/types";
import { merged } from "../store/servers";
import { setState } from "../store/store";

/** Read the servers as they are; the socket may tell it too, or be away. */
export async function loadServers(): Promise<void> {
  const servers = await api.servers();
  setState((now) => ({ servers: merged(now.servers, servers) }));
}

/** Do something with a server, then draw all as they are. */
export async function changeServers<T>(change: Promise<T>): Promise<T> {
  const result = await change;
  await loadServers();
  return result;
}

/** Tell whether a server waits for a person to look at its command. */
export const needsConsent = (server: ServerView): boolean => server.state === "needs_consent" && server.consent !== null;
