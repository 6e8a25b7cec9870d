import type { ServerState, ServerView } from "../api/types";

/** The colour of a state: STA-01 names them. */
export type Tone = "good" | "busy" | "bad" | "off" | "idle";

const tones: Record<ServerState, Tone> = {
  connected: "good",
  connecting: "busy",
  reconnecting: "busy",
  needs_consent: "busy",
  needs_sign_in: "busy",
  error: "bad",
  disconnected: "bad",
  disabled: "off",
  idle: "idle",
};

/** Return the colour for a state, also for one that this page does not know. */
export const toneOf = (state: ServerState): Tone => tones[state] ?? "idle";

const names: Record<ServerState, string> = {
  connected: "Connected",
  connecting: "Connecting",
  reconnecting: "Reconnecting",
  needs_consent: "Needs consent",
  needs_sign_in: "Sign in",
  error: "Error",
  disconnected: "Disconnected",
  disabled: "Disabled",
  idle: "Idle",
};

export const stateName = (state: ServerState): string => names[state] ?? state;

/** Return a number of things: "1 tool", "3 tools". */
export const counted = (count: number, one: string) => `${count} ${one}${count === 1 ? "" : "s"}`;

/** Return how long ago something began: "12 s", "5 min", "3 h 20 min", "4 days". */
export function age(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return counted(Math.floor(hours / 24), "day");
}

/** Return a duration of a call: "0.4 ms", "38 ms", "1.20 s". */
export function latency(seconds: number): string {
  const ms = seconds * 1000;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${seconds.toFixed(2)} s`;
}

/** Return where a server's entry came from, for those that were not typed here. */
export function originOf({ source }: ServerView): string {
  switch (source.type) {
    case "official":
      return `From the official registry: ${source.name} ${source.version}`;
    case "smithery":
      return `From Smithery: ${source.qualifiedName}`;
    case "registry":
      return `From the registry ${source.registry}: ${source.name} ${source.version}`;
    default:
      return source.importedFrom ? `Imported from ${source.importedFrom}` : "";
  }
}

/** Return what of a server waits for a look, among its tools and what it says about itself, or "". */
export function waiting({ changedTools, quarantinedTools, aboutChange }: ServerView): string {
  const parts = [
    changedTools && `${changedTools} changed`,
    quarantinedTools && `${quarantinedTools} quarantined`,
    aboutChange && !aboutChange.refused && "new words",
  ];
  return parts.filter(Boolean).join(", ");
}

/** How long a call may take, in seconds, when nobody said otherwise. */
export const USUAL_SECONDS = 600;
