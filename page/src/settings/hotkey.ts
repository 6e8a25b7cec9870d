/** The modifiers in the order in which a combination names them. */
const modifiers = ["Cmd", "Ctrl", "Alt", "Shift"] as const;

const spellings: Record<string, (typeof modifiers)[number]> = {
  cmd: "Cmd",
  command: "Cmd",
  meta: "Cmd",
  super: "Cmd",
  win: "Cmd",
  "⌘": "Cmd",
  ctrl: "Ctrl",
  control: "Ctrl",
  alt: "Alt",
  option: "Alt",
  "⌥": "Alt",
  shift: "Shift",
  "⇧": "Shift",
};

const named = ["Space", "Enter", "Tab", "Escape", "Up", "Down", "Left", "Right", "Home", "End", "PageUp", "PageDown"];
const byName = new Map(named.map((name) => [name.toLowerCase(), name]));

function keyName(text: string): string | null {
  if (/^[a-z0-9]$/i.test(text) || /^f([1-9]|1\d|2[0-4])$/i.test(text)) return text.toUpperCase();
  return byName.get(text.toLowerCase()) ?? (/^[!-/:-@[-`{-~]$/.test(text) ? text : null);
}

function join(held: ReadonlySet<string>, key: string): string {
  return [...modifiers.filter((modifier) => held.has(modifier)), key].join("+");
}

/** Return a typed combination in its usual spelling, or null when it is none. */
export function parseHotkey(text: string): string | null {
  const parts = text.trim().split(/\s*\+\s*|\s+/);
  const key = keyName(parts.pop() ?? "");
  const held = parts.map((part) => spellings[part.toLowerCase()]);
  if (!key || held.some((modifier) => !modifier)) return null;
  const isFunctionKey = /^F\d+$/.test(key);
  // A bare letter would take that letter away from every program.
  if (!held.some((modifier) => modifier !== "Shift") && !isFunctionKey) return null;
  return join(new Set(held as string[]), key);
}

interface KeyPress {
  code: string;
  metaKey: boolean;
  ctrlKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

/** Return the combination that was pressed, or null while only modifiers are down. */
export function pressedHotkey(press: KeyPress): string | null {
  const key = keyName(press.code.replace(/^(Key|Digit|Arrow)/, ""));
  const held = [press.metaKey && "Cmd", press.ctrlKey && "Ctrl", press.altKey && "Alt", press.shiftKey && "Shift"];
  return key ? parseHotkey([...held.filter(Boolean), key].join("+")) : null;
}
