import { age } from "../servers/words";
import { hostNow } from "../store/clock";
import type { Memory, MemoryCollection, MemoryUse, Scope } from "./memories";

const sayers: Record<Memory["says"], string> = {
  person: "You wrote it",
  agent: "The agent stored it",
  stranger: "The agent stored it, perhaps in a stranger’s words",
};

/** Return whose word a memory is. */
export const saidBy = ({ says }: Pick<Memory, "says">): string => sayers[says];

const places: Record<Scope["kind"], string> = {
  conversation: "One conversation",
  topic: "A topic",
  folder: "A folder",
  everywhere: "Everywhere",
};

/** Return who sees a memory, in a few words; the name of the place where that is known. */
export function placeName(scope: Scope, collections: readonly MemoryCollection[]): string {
  const found = collections.find((each) => each.scope.kind === scope.kind && each.scope.id === scope.id);
  const name = scope.kind === "everywhere" ? "" : (found?.name ?? scope.id);
  return name ? `${places[scope.kind]}: ${name}` : places[scope.kind];
}

/** Return the place as one text, to be chosen by. */
export const placeKey = ({ kind, id }: Scope): string => `${kind} ${id}`;

/** Return how long ago a memory was changed. */
export const oldness = ({ updatedAt }: Pick<Memory, "updatedAt">): string => `${age(hostNow() / 1000 - updatedAt)} ago`;

/** Return how often a memory was recalled. */
export const recalled = ({ uses }: Pick<Memory, "uses">): string => (uses === 1 ? "recalled once" : `recalled ${uses} times`);

const here: Record<MemoryUse["scope"], string> = {
  conversation: "for this conversation",
  topic: "for this topic",
  folder: "for this folder",
  everywhere: "everywhere",
};

const done: Record<MemoryUse["outcome"], string> = {
  kept: "Remembered",
  known: "Known already",
  alike: "Known already",
  changed: "Changed the memory",
  forgotten: "Forgot",
};

/** Return what a call did about a memory, and where. */
export const usedWords = ({ outcome }: MemoryUse): string => done[outcome];
export const usedWhere = ({ scope, says }: MemoryUse): string =>
  [here[scope], says === "stranger" ? "may hold strangers’ words" : ""].filter(Boolean).join(", ");
