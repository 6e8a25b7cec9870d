import type { Rule } from "../api/authority";
import type { SandboxKind } from "../api/types";

const names: Record<SandboxKind, string> = {
  bubblewrap: "in a sandbox (bubblewrap)",
  landlock: "in a sandbox (Landlock)",
  none: "without a sandbox",
};

/** Return where commands run, in a few words. */
export const sandboxName = (kind: SandboxKind) => names[kind];

const meanings: Record<SandboxKind, string> = {
  bubblewrap:
    "Found on this machine: bubblewrap. Commands see the machine read-only, write only in the working directory, and have no network unless it is allowed.",
  landlock:
    "Found on this machine: Landlock. The kernel lets commands write only in the working directory; they see more of the machine than with bubblewrap.",
  none: "No sandbox was found on this machine. Installing bubblewrap changes that.",
};

/** Return what is found on this machine, and what that means. */
export const sandboxMeans = (kind: SandboxKind) => meanings[kind];

/** Tell whether a rule speaks about commands. */
export const isAboutCommands = ({ pattern }: Rule) => pattern.command.length > 0 || pattern.tool.startsWith("terminal_operations");
