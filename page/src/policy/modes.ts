import type { ConversationSettings } from "../api/types";

export type Mode = ConversationSettings["mode"];

export const modes: readonly Mode[] = ["ask", "auto_edit", "read_only", "auto_approve"];

export const modeNames: Record<Mode, string> = {
  ask: "Ask",
  auto_edit: "Auto-edit",
  read_only: "Read-only",
  auto_approve: "Auto-approve",
};

/** What each mode means, in one sentence. */
export const modeWords: Record<Mode, string> = {
  ask: "Reading in the working directory is free; you are asked about everything else.",
  auto_edit: "Changes in the working directory go through too; commands and everything outside are asked about.",
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

/** Return the mode that is in force at a time. */
export function modeAt(settings: Pick<ConversationSettings, "mode" | "modeSince">, seconds: number): Mode {
  const end = autoApproveEnd(settings);
  // One that was only just chosen here has no beginning yet.
  return end !== null && settings.modeSince > 0 && seconds >= end ? "ask" : settings.mode;
}
