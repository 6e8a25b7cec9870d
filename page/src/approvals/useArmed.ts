import { useEffect, useRef, useState, type RefObject } from "react";

/** How long a card is there before it can be agreed to: nobody reads faster, and a click meant for what was there before is over. */
export const ARMING_MS = 700;
/** A dangerous call is looked at longer. */
export const DANGEROUS_ARMING_MS = 1_500;
/** A card that moved by more than this stands somewhere else now. */
const MOVED_PX = 4;

/** A scroll this soon after the wheel, a finger or a key is the reader's own doing. */
const OWN_SCROLL_MS = 1_000;
const SCROLL_KEYS = /^(Page|Arrow|Home|End| )/;

/** Tell whether an event is the beginning of a scroll by hand; a press on the scrolled element itself is one on its bar. */
function begins(event: Event): boolean {
  if (event instanceof KeyboardEvent) return SCROLL_KEYS.test(event.key);
  return event.type !== "pointerdown" || (event.target instanceof Element && event.target.scrollHeight > event.target.clientHeight);
}

const beginnings = ["wheel", "touchmove", "keydown", "pointerdown"] as const;

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
    let byHand = -Infinity;
    const begun = (event: Event) => {
      if (begins(event)) byHand = performance.now();
    };
    const scrolled = () => {
      if (performance.now() - byHand > OWN_SCROLL_MS) look();
      else top = card.current?.getBoundingClientRect().top ?? 0;
    };
    const column = card.current?.closest("[data-column]");
    const observer = new ResizeObserver(look);
    if (column) observer.observe(column);
    window.addEventListener("focus", arm);
    window.addEventListener("blur", disarm);
    document.addEventListener("scroll", scrolled, { capture: true, passive: true });
    for (const name of beginnings) document.addEventListener(name, begun, { capture: true, passive: true });
    arm();
    return () => {
      clearTimeout(timer.current);
      observer.disconnect();
      window.removeEventListener("focus", arm);
      window.removeEventListener("blur", disarm);
      document.removeEventListener("scroll", scrolled, { capture: true });
      for (const name of beginnings) document.removeEventListener(name, begun, { capture: true });
    };
  }, [card, delayMs]);
  return isArmed;
}
