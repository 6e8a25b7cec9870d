import { useLayoutEffect, useSyncExternalStore } from "react";

/** Something a person can do, by the palette or by keys. */
export interface Command {
  id: string;
  title: string;
  /** Key combinations: "mod+k", "alt+n", "?", "escape"; "mod" is Cmd on a Mac and Ctrl elsewhere. */
  keys?: readonly string[];
  group?: string;
  /** When given and false, the command is neither listed nor run. */
  enabled?: () => boolean;
  run: () => void;
}

const registry = new Map<string, Command>();
const listeners = new Set<() => void>();
let listed: readonly Command[] = [];

function publish(): void {
  listed = [...registry.values()];
  for (const listener of listeners) listener();
}

/** Add commands; returns how to take them away again. */
export function register(commands: readonly Command[]): () => void {
  for (const command of commands) registry.set(command.id, command);
  publish();
  return () => {
    for (const command of commands) if (registry.get(command.id) === command) registry.delete(command.id);
    publish();
  };
}

/** Keep commands registered from the moment a component is drawn; `commands` must be memoised. */
export function useCommands(commands: readonly Command[]): void {
  useLayoutEffect(() => register(commands), [commands]);
}

/** Draw with the commands that exist now. */
export function useCommandList(): readonly Command[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => listed,
  );
}

export const isMac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);

interface KeyPress {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
  code?: string;
}

/** Tell whether a key press is the combination; a shifted sign such as "?" is named by itself. */
export function matches(combination: string, press: KeyPress, mac = isMac): boolean {
  const parts = combination.split("+");
  const key = parts.pop() ?? "";
  const mod = parts.includes("mod");
  if (mod !== (mac ? press.metaKey : press.ctrlKey) || (mac ? press.ctrlKey : press.metaKey)) return false;
  if (parts.includes("alt") !== press.altKey) return false;
  if (/[a-z0-9]/.test(key) && parts.includes("shift") !== press.shiftKey) return false;
  // With Alt held some layouts report another sign; the key's place still says which letter it is.
  return press.key.toLowerCase() === key || (press.altKey && press.code === `Key${key.toUpperCase()}`);
}

/** Return how a combination is written for a person: "Ctrl K", "⌘ K". */
export function keyLabel(combination: string, mac = isMac): string {
  const names: Record<string, string> = { mod: mac ? "⌘" : "Ctrl", alt: mac ? "⌥" : "Alt", shift: mac ? "⇧" : "Shift" };
  const special: Record<string, string> = { escape: "Esc", enter: "Enter" };
  return combination
    .split("+")
    .map((part) => names[part] ?? special[part] ?? part.toUpperCase())
    .join(" ");
}

/** Escape presses that belong to a dialog or menu: it may be gone by the time the commands hear of them. */
const claimed = new WeakSet<Event>();

function claim(event: KeyboardEvent): void {
  if (event.key === "Escape" && document.querySelector("[role=dialog], [role=menu]")) claimed.add(event);
}

// Before anything is drawn, so that it hears every key first.
if (typeof window !== "undefined") window.addEventListener("keydown", claim, { capture: true });

/** Tell whether keys pressed on something are text. */
export function isTyping(target: EventTarget | null): boolean {
  const typed = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable=true]";
  return target instanceof HTMLElement && target.matches(typed);
}

/** Run the command whose keys were pressed; a bare sign is text while a field has the focus. */
export function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || claimed.has(event)) return;
  for (const command of registry.values()) {
    const hit = command.keys?.find((keys) => matches(keys, event));
    if (!hit || command.enabled?.() === false) continue;
    if (!hit.includes("+") && hit !== "escape" && isTyping(event.target)) continue;
    event.preventDefault();
    command.run();
    return;
  }
}
