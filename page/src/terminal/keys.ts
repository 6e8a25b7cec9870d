import { isMac, matches } from "../shell/commands";

/** What of a terminal is used here. */
interface Selectable {
  getSelection: () => string;
  clearSelection: () => void;
}

/** Keys of the page that a terminal leaves alone. */
const pageKeys = ["mod+`", "alt+p"];

function copy(terminal: Selectable, event: KeyboardEvent): boolean {
  const selected = terminal.getSelection();
  if (!selected) return true;
  event.preventDefault();
  void navigator.clipboard?.writeText(selected);
  terminal.clearSelection();
  return false;
}

/** Tell whether the terminal takes a key; otherwise the browser or the page does. */
export function handlesKey(terminal: Selectable, event: KeyboardEvent, mac = isMac): boolean {
  if (event.type !== "keydown") return true;
  if (pageKeys.some((keys) => matches(keys, event, mac))) return false;
  if (mac || !event.ctrlKey || event.altKey) return true;
  const key = event.key.toLowerCase();
  // Pasting is the browser's: it gives the text to the terminal.
  if (key === "v") return false;
  // With something selected it is copied; without, the program is interrupted as ever.
  return key === "c" ? copy(terminal, event) : true;
}
