import type { ConfigView, ConversationSettings } from "../api/types";

/** What a conversation is set to: "default" until someone chose one. */
export type ChosenMode = ConversationSettings["mode"];
export type Mode = Exclude<ChosenMode, "default">;

export const modes: readonly Mode[] = ["ask", "sandboxed", "auto_edit", "read_only", "auto_approve"];

export const modeNames: Record<Mode, string> = {
  ask: "Ask",
  sandboxed: "Sandboxed",
  auto_edit: "Auto-edit",
  read_only: "Read-only",
  auto_approve: "Auto-approve",
};

/** What each mode means, in one sentence. */
export const modeWords: Record<Mode, string> = {
  ask: "Reading in the working directory is free; you are asked about everything else.",
  sandboxed:
    "Changes in the working directory and commands that the sandbox holds go through, and can be undone; you are asked about places: the network, other folders, where data goes.",
  auto_edit: "Changes in the working directory go through; commands and everything outside are asked about.",
  read_only: "Nothing that writes, runs or sends is offered or carried out.",
  auto_approve: "Nothing is asked, except about settings, secrets, dangerous calls and private data on its way out.",
};

/** Return a mode by its name; anything unknown is the one that asks. */
export const modeOf = (name: string): Mode => modes.find((mode) => mode === name) ?? "ask";

/** How long nothing is asked at most, in seconds. */
export const AUTO_APPROVE_SECONDS = 8 * 3_600;

/** Return when a conversation begins to ask again, in seconds since the epoch; null when it asks already. */
export function autoApproveEnd({ mode, modeSince }: Pick<ConversationSettings, "mode" | "modeSince">): number | null {
  return mode === "auto_approve" ? modeSince + AUTO_APPROVE_SECONDS : null;
}

type Moded = Pick<ConversationSettings, "mode" | "modeSince" | "workingDirectory">;

/** Return what the default mode comes to, with a folder or without; the server says so. */
export function defaultMode(config: ConfigView | null, folder: string | null): Mode {
  return (folder ? config?.modeInFolder : config?.modeElsewhere) ?? "ask";
}

/** Return the mode that is in force at a time. */
export function modeAt(settings: Moded, config: ConfigView | null, seconds: number): Mode {
  if (settings.mode === "default") return defaultMode(config, settings.workingDirectory);
  const end = autoApproveEnd(settings);
  // One that was only just chosen here has no beginning yet.
  return end !== null && settings.modeSince > 0 && seconds >= end ? "ask" : settings.mode;
}
