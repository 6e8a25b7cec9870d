import { useSyncExternalStore } from "react";

/** In this browser: the comparisons that the person has gone on from, the newest last. */
const PLACE = "pilothouse.compared";
/** Older ones have long been gone on from with another message. */
const KEPT = 100;

function load(): readonly string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(PLACE) ?? "[]");
    return Array.isArray(kept) ? kept.filter((id) => typeof id === "string") : [];
  } catch {
    return [];
  }
}

let settled = typeof localStorage === "undefined" ? [] : load();
const listeners = new Set<() => void>();

/** Remember whether the person has gone on from a comparison: its columns are then closed. */
export function settle(itemId: string, isSettled: boolean): void {
  const others = settled.filter((id) => id !== itemId);
  settled = isSettled ? [...others, itemId].slice(-KEPT) : others;
  try {
    localStorage.setItem(PLACE, JSON.stringify(settled));
  } catch {
    // Storage that is full or forbidden only brings the columns back after a reload.
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Draw with whether the person has gone on from a comparison. */
export function useIsSettled(itemId: string | null): boolean {
  return useSyncExternalStore(subscribe, () => itemId !== null && settled.includes(itemId));
}
