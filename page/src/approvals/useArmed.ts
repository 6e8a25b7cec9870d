import { useEffect, useRef, useState, type RefObject } from "react";
import { isByHand } from "../shell/byHand";

/** How long a card is there before it can be agreed to: nobody reads faster, and a click meant for what was there before is over. */
export const ARMING_MS = 700;
/** A dangerous call is looked at longer. */
export const DANGEROUS_ARMING_MS = 1_500;
/** A card that moved by more than this stands somewhere else now. */
const MOVED_PX = 4;

/**
 * Tell whether a card may be agreed to: it has been in this place, in a window with the focus, for a while.
 * Whatever brings it to another place begins the wait again.
 */
export function useArmed(card: RefObject<HTMLElement | null>, delayMs: number): boolean {
  const [isArmed, setArmed] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    const disarm = () => {
      clearTimeout(timer.current);
      setArmed(false);
    };
    const arm = () => {
      disarm();
      if (document.hasFocus()) timer.current = setTimeout(() => setArmed(true), delayMs);
    };
    // What agrees stands at its end.
    const place = () => card.current?.getBoundingClientRect().bottom ?? 0;
    let before = place();
    const look = () => {
      const now = place();
      if (Math.abs(now - before) > MOVED_PX) arm();
      before = now;
    };
    const scrolled = () => {
      if (!isByHand()) look();
      else before = place();
    };
    // It moves when something around it grows or shrinks.
    const observer = new ResizeObserver(look);
    for (const around of card.current?.closest("[data-column]")?.children ?? []) observer.observe(around);
    window.addEventListener("focus", arm);
    window.addEventListener("blur", disarm);
    document.addEventListener("scroll", scrolled, { capture: true, passive: true });
    arm();
    return () => {
      clearTimeout(timer.current);
      observer.disconnect();
      window.removeEventListener("focus", arm);
      window.removeEventListener("blur", disarm);
      document.removeEventListener("scroll", scrolled, { capture: true });
    };
  }, [card, delayMs]);
  return isArmed;
}
