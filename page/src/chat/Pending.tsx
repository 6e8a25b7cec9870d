import { useEffect, useRef, useState } from "react";
import { isOpen } from "../api/items";
import type { Item, Run } from "../api/types";
import { activeRun, type ConversationState } from "../store/conversation";
import { useApp, type AppState } from "../store/store";
import classes from "./Chat.module.css";
import { Elapsed } from "./Elapsed";

/** Tell whether one of the last items of a run is like this. */
function hasLately(open: ConversationState, runId: string, isMeant: (item: Item) => boolean): boolean {
  for (let at = open.order.length - 1; at >= 0; at -= 1) {
    const item = open.items.get(open.order[at] ?? "");
    if (item?.runId !== runId || item.kind === "user_message") return false;
    if (isMeant(item)) return true;
  }
  return false;
}

/** Return why a run has not begun: others have all the slots, or something of its own conversation comes first. */
function queuedWords(open: ConversationState, run: Run): string {
  const message = open.items.get(run.messageItemId);
  const { slot } = message?.kind === "user_message" ? message.data : {};
  if (slot?.runId !== run.id) return open.elsewhere.size ? "Waiting until an answer in another branch has ended…" : "Waiting for its turn…";
  return `Waiting for a free slot: ${slot.before ? `${slot.before} before it` : "it is next"}`;
}

/** A call says itself that it waits. */
const isOpenCall = (item: Item) => item.kind === "tool_call" && isOpen(item);

/** Return what the run is doing while nothing of it streams; null when it shows by itself. */
export function pendingWords({ open }: AppState): string | null {
  const run = activeRun(open);
  if (!open || !run) return null;
  if (run.cancelRequested) return "Stopping…";
  if (run.status === "queued") return queuedWords(open, run);
  if (run.status === "waiting") return hasLately(open, run.id, isOpenCall) ? null : "Waiting for you";
  return hasLately(open, run.id, isOpen) ? null : "Waiting for the model…";
}

/** Said once to those who cannot see the text arrive: when an answer begins and how it ends. */
function Announcement() {
  const status = useApp((state) => activeRun(state.open)?.status ?? null);
  const before = useRef(status);
  const [words, setWords] = useState("");
  useEffect(() => {
    if (status === before.current) return;
    // What is asked is said where it stands.
    if (status === "waiting") setWords("");
    else if (status) setWords("Answering.");
    else setWords("The answer has ended.");
    before.current = status;
  }, [status]);
  return (
    <span className="ph-hidden" role="status" aria-live="polite">
      {words}
    </span>
  );
}

/** What is awaited, and for how long. */
export function Awaited({ words }: { words: string }) {
  const since = useApp((state) => activeRun(state.open)?.updatedAt ?? 0);
  return (
    <>
      {words} {words.startsWith("Waiting for the model") && <Elapsed since={since * 1000} />}
    </>
  );
}

/** The line below the timeline while a run has nothing to show, and nothing above tells what is awaited. */
export function Pending({ isTold }: { isTold: boolean }) {
  const words = useApp(pendingWords);
  return (
    <>
      {words && !isTold && (
        <p className={classes.pending}>
          <span className={classes.pulse} /> <Awaited words={words} />
        </p>
      )}
      <Announcement />
    </>
  );
}
