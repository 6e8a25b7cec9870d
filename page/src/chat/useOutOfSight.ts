import { useEffect, useState, type RefObject } from "react";
import { isOpen } from "../approvals/asked";
import { activeRun, type ConversationState } from "../store/conversation";
import { useApp } from "../store/store";
import { placeOf, type Row } from "./rows";

/** How often it is looked where the questions stand, at most. */
const LOOK_MS = 100;
/** A question whose end is out of sight is in view while it fills this much of what is seen. */
const MOST_OF_THE_VIEW = 0.6;
/** As much of its end must be seen that its answers are. */
const END_PX = 48;

/** Return the questions that the run under way has asked and that wait, in their order. */
export function openQuestions(open: ConversationState | null): string[] {
  const run = activeRun(open);
  const found: string[] = [];
  if (!open || !run) return found;
  for (let at = open.order.length - 1; at >= 0; at -= 1) {
    const item = open.items.get(open.order[at] ?? "");
    if (item?.kind === "user_message") break;
    if (item?.kind === "question" && item.runId === run.id && isOpen(item)) found.unshift(item.id);
  }
  return found;
}

function isInView(place: string, scroller: HTMLElement): boolean {
  const row = document.getElementById(`item-${place}`)?.getBoundingClientRect();
  if (!row) return false;
  const view = scroller.getBoundingClientRect();
  if (row.bottom <= view.bottom + 1 && row.bottom >= view.top + END_PX) return true;
  return Math.min(row.bottom, view.bottom) - Math.max(row.top, view.top) >= view.height * MOST_OF_THE_VIEW;
}

export interface OutOfSight {
  itemId: string;
  count: number;
}

/** Return the first question that waits while none that waits is in view; null when one is, or none waits. */
export function useOutOfSight(
  scroller: HTMLElement | null,
  content: RefObject<HTMLElement | null>,
  rows: readonly Row[],
): OutOfSight | null {
  const waiting = useApp((state) => openQuestions(state.open).join(" "));
  const [isHidden, setHidden] = useState(false);
  useEffect(() => {
    setHidden(false);
    if (!waiting || !scroller || !content.current) return;
    const places = waiting.split(" ").map((id) => placeOf(rows, id));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      timer = undefined;
      setHidden(!places.some((place) => isInView(place, scroller)));
    };
    // Not at once: what just came may be about to be scrolled to.
    const soon = () => {
      timer ??= setTimeout(look, LOOK_MS);
    };
    const resized = new ResizeObserver(soon);
    const redrawn = new MutationObserver(soon);
    resized.observe(scroller);
    redrawn.observe(content.current, { childList: true, subtree: true });
    scroller.addEventListener("scroll", soon, { passive: true });
    soon();
    return () => {
      clearTimeout(timer);
      resized.disconnect();
      redrawn.disconnect();
      scroller.removeEventListener("scroll", soon);
    };
  }, [waiting, scroller, content, rows]);
  const [itemId = "", ...others] = waiting.split(" ");
  return waiting && isHidden ? { itemId, count: others.length + 1 } : null;
}
