import { api } from "../api/client";
import type { ServerView } from "../api/types";
import { askFor } from "../store/servers";

/** Read the servers as they are; the socket may tell it too, or be away. */
export async function loadServers(): Promise<void> {
  await askFor(api.servers(), (servers) => servers);
}

/** Do something with a server, then draw all as they are. */
export async function changeServers<T>(change: Promise<T>): Promise<T> {
  const result = await change;
  await loadServers();
  return result;
}

/** Tell whether a server waits for a person to look at its command. */
export const needsConsent = (server: ServerView): boolean => server.state === "needs_consent" && server.consent !== null;
