import { useSyncExternalStore } from "react";
import type { DocumentPlace } from "./documents";

let shown: DocumentPlace | null = null;
let hasShown = false;
const listeners = new Set<() => void>();

/** Show a document at a place; null closes it. */
export function viewDocument(place: DocumentPlace | null): void {
  shown = place;
  hasShown ||= place !== null;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Return the place that is shown, or null. */
export const useViewed = () => useSyncExternalStore(subscribe, () => shown);

/** Return whether one was ever shown: until then nothing is fetched to show it with. */
export const useHasViewed = () => useSyncExternalStore(subscribe, () => hasShown);
