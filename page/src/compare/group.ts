import type { Run } from "../api/types";
import type { ConversationState } from "../store/conversation";

/** One of the answers that are compared: its branch and its run. */
export interface Member {
  branch: number;
  runId: string;
}

/** One message that several models answer side by side. */
export interface Group {
  /** The message that all of them answer, which names the group. */
  itemId: string;
  members: readonly Member[];
}

type Shown = Pick<ConversationState, "items" | "order" | "branches">;

/** Return the last message of a path. */
function lastMessage({ items, order }: Shown) {
  for (let at = order.length - 1; at >= 0; at -= 1) {
    const item = items.get(order[at] ?? "");
    if (item?.kind === "user_message") return item;
  }
  return null;
}

/** Return the comparison that a path ends with; null where it ends with something else. */
export function groupAtEnd(open: Shown | null): Group | null {
  const message = open && lastMessage(open);
  if (!open || !message?.runId) return null;
  const { fork } = message.data;
  const itemId = fork?.kind === "compare" && fork.repeats ? fork.repeats : message.id;
  const others = [...open.branches.values()].filter(({ kind, repeats }) => kind === "compare" && repeats === itemId);
  const [other] = others;
  if (!other) return null;
  // The first answer stands in the branch that the message began, or in the one that the others have left.
  const begun = [...open.branches.values()].find((branch) => branch.itemId === itemId);
  const first: Member = begun ? { branch: begun.number, runId: begun.runId } : { branch: other.parent, runId: other.insteadOf };
  const rest = others.sort((a, b) => a.number - b.number).map(({ number, runId }) => ({ branch: number, runId }));
  return { itemId, members: [first, ...rest] };
}

/** Tell whether a run has not ended. */
export const isAtWork = (run: Run | null | undefined): run is Run =>
  run !== null && run !== undefined && ["queued", "running", "waiting"].includes(run.status);
