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
    let top = card.current?.getBoundingClientRect().top ?? 0;
    const look = () => {
      const now = card.current?.getBoundingClientRect().top ?? 0;
      if (Math.abs(now - top) > MOVED_PX) arm();
      top = now;
    };
    const scrolled = () => {
      if (!isByHand()) look();
      else top = card.current?.getBoundingClientRect().top ?? 0;
    };
    const column = card.current?.closest("[data-column]");
    const observer = new ResizeObserver(look);
    if (column) observer.observe(column);
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
