import { api } from "../api/client";
import type { Run } from "../api/types";
import { getState, type AppState } from "../store/store";
import { groupAtEnd, isAtWork, type Group, type Member } from "./group";

type Drawn = Pick<AppState, "open" | "beside">;

/** Return the state of a member: of the open branch, or beside it. */
export const stateOf = ({ open, beside }: Drawn, { branch }: Member) => (open?.branch === branch ? open : (beside.get(branch) ?? null));

/** Return the runs of a comparison that have not ended; those that are not drawn yet are known, too. */
export function atWork(state: Drawn, { members }: Group): Run[] {
  const found = members.map((member) => stateOf(state, member)?.runs.get(member.runId) ?? state.open?.elsewhere.get(member.runId));
  return found.filter(isAtWork);
}

/** Stop the runs of a comparison, save one. */
export async function stopAll(group: Group, save?: Member): Promise<void> {
  const runs = atWork(getState(), group).filter(({ id, cancelRequested }) => id !== save?.runId && !cancelRequested);
  await Promise.all(runs.map(({ id }) => api.cancelRun(id)));
}

/** Return the comparison that the open path ends with, if its answers are still at work. */
export function comparisonAtWork(): Group | null {
  const state = getState();
  const group = groupAtEnd(state.open);
  return group && atWork(state, group).length ? group : null;
}
