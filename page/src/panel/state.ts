import { useSyncExternalStore } from "react";

export const panelTabs = ["todos", "terminal", "changes", "documents", "context"] as const;
export type PanelTab = (typeof panelTabs)[number];

export interface PanelState {
  isOpen: boolean;
  tab: PanelTab;
  width: number;
}

const PLACE = "pilothouse.panel";
export const NARROWEST = 300;
export const WIDEST = 760;
const initial: PanelState = { isOpen: false, tab: "todos", width: 400 };

const bounded = (width: number) => Math.round(Math.min(WIDEST, Math.max(NARROWEST, width)));

/** Return what was kept of the panel; anything that is not as it should be is as at the beginning. */
export function keptPanel(kept: string | null): PanelState {
  try {
    const value = JSON.parse(kept ?? "null") as Partial<PanelState> | null;
    const tab = panelTabs.find((name) => name === value?.tab) ?? initial.tab;
    const width = Number.isFinite(value?.width) ? bounded(Number(value?.width)) : initial.width;
    return { isOpen: value?.isOpen === true, tab, width };
  } catch {
    return initial;
  }
}

function load(): PanelState {
  try {
    return keptPanel(localStorage.getItem(PLACE));
  } catch {
    return initial;
  }
}

let state = typeof localStorage === "undefined" ? initial : load();
const listeners = new Set<() => void>();

function change(next: Partial<PanelState>): void {
  state = { ...state, ...next };
  try {
    localStorage.setItem(PLACE, JSON.stringify(state));
  } catch {
    // Storage that is full or forbidden only costs the memory of it.
  }
  for (const listener of listeners) listener();
}

/** Show or hide the panel. */
export const togglePanel = () => change({ isOpen: !state.isOpen });
export const closePanel = () => change({ isOpen: false });
/** Show the panel with one of its tabs. */
export const showPanel = (tab: PanelTab) => change({ isOpen: true, tab });
/** Show a tab, or hide the panel when it is shown already. */
export const toggleTab = (tab: PanelTab) => change({ isOpen: !state.isOpen || state.tab !== tab, tab });
export const resizePanel = (width: number) => change({ width: bounded(width) });

/** Draw with the panel as it is. */
export function usePanel(): PanelState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}
