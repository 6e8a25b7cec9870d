import { useLayoutEffect } from "react";
import { whenDrawn, type Follow } from "../chat/useFollow";
import { useApp } from "../store/store";

/** So much stays free above and below. */
const ROOM_PX = 8;

const formIn = (scroller: HTMLElement) => scroller.querySelector<HTMLElement>("[data-edit]");

/** Scroll as little as shows the message that is edited; of one that is higher than the view, its beginning. */
function show(scroller: HTMLElement): void {
  const form = formIn(scroller)?.getBoundingClientRect();
  if (!form) return;
  const view = scroller.getBoundingClientRect();
  const [above, below] = [form.top - view.top - ROOM_PX, form.bottom - view.bottom + ROOM_PX];
  if (above < 0) scroller.scrollTop += above;
  else if (below > 0) scroller.scrollTop += Math.min(below, above);
}

/** Have a message in view once it is edited, also where the view becomes lower by a keyboard on the screen. */
export function useEditInView(scroller: HTMLElement | null, hold: Follow["hold"]): void {
  const editing = useApp((state) => state.editing);
  useLayoutEffect(() => {
    if (!editing || !scroller) return;
    let release: (() => void) | null = hold();
    const letGo = () => {
      release?.();
      release = null;
    };
    show(scroller);
    // The box finds its height, and what comes into view does.
    whenDrawn(() => {
      if (release) show(scroller);
      whenDrawn(() => {
        if (release) show(scroller);
        letGo();
      });
    });
    const observer = new ResizeObserver(() => formIn(scroller)?.contains(document.activeElement) && show(scroller));
    observer.observe(scroller);
    return () => {
      observer.disconnect();
      letGo();
    };
  }, [editing, scroller, hold]);
}
