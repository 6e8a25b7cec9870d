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

/** What the list says of a server while its package is looked up: what there is to agree to is known after that. */
const LOOKING_UP = "Looking up its package...";

/** Tell whether a label says what is done with a server's package: that takes longer than anything else. */
export const isAtWork = (label: string): boolean => label === LOOKING_UP || label === "Installing...";

/** Tell whether it is being found out what there is to agree to. */
export const isLookedUp = (server: ServerView): boolean => server.consent === null && server.label === LOOKING_UP;

/** Tell whether a server waits for a person to look at its command. */
export const needsConsent = (server: ServerView): boolean => server.state === "needs_consent" && server.consent !== null;
