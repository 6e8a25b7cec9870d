import { api } from "../api/client";
import type { Branch } from "../api/types";
import { navigate, replayPath } from "../shell/router";

/** Show a replay beside the run that it repeats. */
export async function goToReplay({ number, runId, insteadOf }: Pick<Branch, "number" | "runId" | "insteadOf">): Promise<void> {
  const { conversationId, options } = await api.run(runId);
  navigate(replayPath(conversationId, options.replayOf ?? insteadOf, number));
}
