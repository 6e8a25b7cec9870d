import { useEffect, useRef, useState } from "react";
import { activeRun, type ConversationState } from "../store/conversation";
import { useApp, type AppState } from "../store/store";
import classes from "./Chat.module.css";
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

/** Return what the run is doing while nothing of it streams; null when it shows by itself. */
function pendingWords({ open }: AppState): string | null {
  const run = activeRun(open);
  if (!open || !run) return null;
  if (run.cancelRequested) return "Stopping…";
  if (run.status === "queued") return "Waiting for its turn…";
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
