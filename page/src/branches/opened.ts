import { useSyncExternalStore } from "react";

let isOpen = false;
let wasOpen = false;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function change(opens: boolean): void {
  isOpen = opens;
  wasOpen ||= opens;
  for (const listener of listeners) listener();
}

/** Show all branches of the open conversation. */
export const openTree = () => change(true);

/** Show the conversation again. */
export const closeTree = () => change(false);

/** Return whether they are shown. */
export const useTreeOpened = () => useSyncExternalStore(subscribe, () => isOpen);

/** Return whether they ever were: until then nothing is fetched to show them with. */
export const useTreeWasOpened = () => useSyncExternalStore(subscribe, () => wasOpen);
