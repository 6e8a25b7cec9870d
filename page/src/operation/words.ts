import type { ProcessEntry, RunEntry } from "../api/operation";

const roles: Record<string, string> = {
  server: "Page and work",
  web: "Page",
  worker: "Work",
  once: "Command",
  heir: "Command",
};

/** Return what a process does; of a worker also that it was told to start no programs. */
export const roleWords = (role: string, programs: boolean): string =>
  `${roles[role] ?? role}${role === "worker" && !programs ? ", no programs" : ""}`;

/** Return how much of a process is in use: "3 of 50", or nothing for one that works on nothing. */
export const slotWords = (atWork: number, slots: number): string => (slots ? `${atWork} of ${slots}` : "–");

/** How much of a process's name tells it from the others. */
const TELLING = 6;

/** Return the part of a process's name that people tell it by: its end, since the beginning is the time of its start. */
export const shortName = (id: string): string => (id.split("@")[0] ?? id).slice(-TELLING);

const states: Partial<Record<RunEntry["status"], string>> = {
  queued: "Waiting for a slot",
  running: "At work",
  waiting: "Waiting for you",
};

/** Return what state a run is in. */
export const stateWords = (run: RunEntry): string =>
  run.cancelRequested && run.status === "running" ? "Stopping" : (states[run.status] ?? run.status);

/** Return where a run is at work, by the machine that its process is on. */
export function placeWords(run: RunEntry, processes: readonly ProcessEntry[]): string {
  if (!run.process) return "";
  const found = processes.find(({ id }) => id === run.process);
  return found ? `${shortName(run.process)} on ${found.about.host}` : shortName(run.process);
}
