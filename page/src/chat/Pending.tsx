import { useEffect, useRef, useState } from "react";
import type { Run } from "../api/types";
import { activeRun, type ConversationState } from "../store/conversation";
import { useApp, type AppState } from "../store/store";
import classes from "./Chat.module.css";
import { record } from "./data";
import { Elapsed } from "./Elapsed";

/** Tell whether something of a run can be seen to go on. */
function showsItself(open: ConversationState, runId: string): boolean {
  for (let at = open.order.length - 1; at >= 0; at -= 1) {
    const item = open.items.get(open.order[at] ?? "");
    if (item?.runId !== runId || item.kind === "user_message") return false;
    if (item.status === "streaming" || item.status === "waiting") return true;
  }
  return false;
}

/** Return why a run has not begun: others have all the slots, or something of its own conversation comes first. */
function queuedWords(open: ConversationState, run: Run): string {
  const { runId, before } = record(open.items.get(run.messageItemId)?.data.slot);
  if (runId !== run.id || typeof before !== "number") return "Waiting for its turn…";
  return `Waiting for a free slot: ${before ? `${before} before it` : "it is next"}`;
}

/** Return what the run is doing while nothing of it streams; null when it shows by itself. */
function pendingWords({ open }: AppState): string | null {
  const run = activeRun(open);
  if (!open || !run) return null;
  if (run.cancelRequested) return "Stopping…";
  if (run.status === "queued") return queuedWords(open, run);
  if (run.status === "waiting") return "Waiting for you";
  return showsItself(open, run.id) ? null : "Waiting for the model…";
}

/** Said once to those who cannot see the text arrive: when an answer begins and how it ends. */
function Announcement() {
  const status = useApp((state) => activeRun(state.open)?.status ?? null);
  const before = useRef(status);
  const [words, setWords] = useState("");
  useEffect(() => {
    if (status === before.current) return;
    if (status === "waiting") setWords("A question waits for your answer.");
    else if (status) setWords("Answering.");
    else setWords("The answer has ended.");
    before.current = status;
  }, [status]);
  return (
    <span className={classes.hidden} role="status" aria-live="polite">
      {words}
    </span>
  );
}

/** The line below the timeline while a run has nothing to show. */
export function Pending() {
  const words = useApp(pendingWords);
  const since = useApp((state) => activeRun(state.open)?.updatedAt ?? 0);
  return (
    <>
      {words && (
        <p className={classes.pending}>
          <span className={classes.pulse} /> {words} {words.startsWith("Waiting for the model") && <Elapsed since={since * 1000} />}
        </p>
      )}
      <Announcement />
    </>
  );
}
