import { useSyncExternalStore } from "react";
import { branchesApi } from "../api/branches";
import type { LeftBehind, WhenBusy } from "../api/types";

/** What there is to ask before a branch is made; the answer is what becomes of answers at work, or null to make none. */
export interface Asked {
  runId: string;
  /** Whether the run itself is left behind, or only what follows it. */
  itself: boolean;
  left: LeftBehind;
  answer: (answer: WhenBusy | null) => void;
}

let asked: Asked | null = null;
const listeners = new Set<() => void>();

function ask(next: Asked | null): void {
  asked?.answer(null);
  asked = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Return what is asked now, or null. */
export const useAsked = () => useSyncExternalStore(subscribe, () => asked);

/** Look what a new branch would leave behind, and ask where that is something; returns null where none is to be made. */
export async function askBefore(runId: string, itself: boolean): Promise<WhenBusy | null> {
  const left = await branchesApi.leftBehind(runId, itself);
  if (!left.atWork.length && !left.filesCount) return "finish";
  return new Promise((resolve) => {
    const answer = (given: WhenBusy | null) => {
      asked = null;
      resolve(given);
      for (const listener of listeners) listener();
    };
    ask({ runId, itself, left, answer });
  });
}
