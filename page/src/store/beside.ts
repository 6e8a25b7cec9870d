import { api } from "../api/client";
import type { Event } from "../api/types";
import { fromSnapshot, type ConversationState } from "./conversation";
import { foldAll } from "./fold";
import { getState, setState, useApp } from "./store";

function keep(open: ConversationState): void {
  setState((now) => ({ beside: new Map([...now.beside, [open.branch, open]]) }));
}

async function load(id: string, branch: number): Promise<void> {
  const state = fromSnapshot(await api.snapshot(id, branch));
  if (getState().open?.conversation.id === id) keep(state);
}

/** Have other paths of the open conversation here as well, up to date like the one that is shown; none for an empty list. */
export async function lookBeside(branches: readonly number[]): Promise<void> {
  const { open, beside } = getState();
  setState({ beside: new Map([...beside].filter(([number]) => branches.includes(number))) });
  if (!open) return;
  await Promise.all(branches.filter((number) => !beside.has(number)).map((number) => load(open.conversation.id, number)));
}

/** Take over events of the open conversation in the paths that are here besides. */
export function hearBeside(id: string, events: readonly Event[]): void {
  for (const before of getState().beside.values()) {
    const next = foldAll(before, events);
    if (next.gap && !before.gap) void load(id, before.branch).catch(() => undefined);
    keep(next);
  }
}

/** Draw with a path of the open conversation: the one that is shown, or one that is here besides. */
export function useBranch(branch: number): ConversationState | null {
  return useApp(({ open, beside }) => (open?.branch === branch ? open : (beside.get(branch) ?? null)));
}
