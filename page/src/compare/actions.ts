import { currentModel } from "../shell/ModelSelector";
import { changeSettings } from "../store/actions";
import { goToBranch } from "../store/branching";
import { getState, setState } from "../store/store";
import type { Group, Member } from "./group";
import { stateOf, stopAll } from "./runs";
import { settle } from "./settled";

/** As many as the server takes. */
export const MOST_COMPARED = 3;

/** Begin to choose the models for the next message, with the one that would answer it. */
export function beginComparing(): void {
  setState((now) => {
    const model = currentModel(now);
    return { compared: model ? [model.id] : [] };
  });
}

/** Send the next message to this model, too, or not to it. */
export function choose(modelId: string, isChosen: boolean): void {
  setState(({ compared }) => {
    const others = (compared ?? []).filter((id) => id !== modelId);
    return { compared: isChosen && others.length < MOST_COMPARED ? [...others, modelId] : others };
  });
}

/** Go on with one of the answers, and with the model that gave it: the others are stopped and stay as branches. */
export async function goOnWith(conversationId: string, group: Group, member: Member): Promise<void> {
  await stopAll(group, member);
  const modelId = stateOf(getState(), member)?.runs.get(member.runId)?.options.modelId;
  if (getState().open?.conversation.id !== conversationId) return;
  await goToBranch(member.branch);
  settle(group.itemId, true);
  if (modelId && modelId !== currentModel(getState())?.id) await changeSettings({ modelId }, conversationId);
}
