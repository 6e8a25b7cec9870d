import type { SandboxKind } from "../api/hands";

const names: Record<SandboxKind, string> = {
  bubblewrap: "held by bubblewrap",
  landlock: "held by Landlock",
  none: "not held by a sandbox",
};

/** Return what holds commands, in a few words. */
export const sandboxName = (kind: SandboxKind) => names[kind];
