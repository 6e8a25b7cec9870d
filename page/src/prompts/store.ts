import { useEffect, useSyncExternalStore } from "react";
import { miniPromptsApi, promptsApi } from "../api/topics";
import type { PromptList, PromptView } from "../api/types";

export type Kind = "prompts" | "miniPrompts";

const none: PromptList = { prompts: [], folder: "", problems: [] };
const lists: Record<Kind, PromptList | null> = { prompts: null, miniPrompts: null };
const listeners = new Set<() => void>();
const ask = { prompts: promptsApi.list, miniPrompts: miniPromptsApi.list };

/** Look at the files again; what is known stays in sight when that fails. */
export async function refreshPrompts(kind: Kind): Promise<void> {
  const found = await ask[kind]();
  lists[kind] = { ...found, prompts: [...found.prompts].sort((a, b) => a.title.localeCompare(b.title)) };
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** The prompts of a kind; people edit their files, so it is looked again whenever someone comes back to the page. */
export function usePrompts(kind: Kind): PromptList {
  const found = useSyncExternalStore(listen, () => lists[kind]);
  useEffect(() => {
    // Out of reach for a moment: the next look may do better.
    const look = () => void refreshPrompts(kind).catch(() => undefined);
    look();
    window.addEventListener("focus", look);
    return () => window.removeEventListener("focus", look);
  }, [kind]);
  return found ?? none;
}

/** Return the variables of a prompt that a person is asked for. */
export const askedOf = (prompt: Pick<PromptView, "variables">) => prompt.variables.filter(({ builtIn }) => !builtIn);
