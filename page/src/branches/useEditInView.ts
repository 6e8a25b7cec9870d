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

/** Have a message in view once it is edited, also while it grows, and where a keyboard on the screen takes some of the view. */
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
    const form = formIn(scroller);
    const observer = new ResizeObserver(() => {
      // In one that is higher than the view the browser keeps the place where one writes in view.
      if (form?.contains(document.activeElement) && form.offsetHeight <= scroller.clientHeight) show(scroller);
    });
    for (const each of [scroller, form]) if (each) observer.observe(each);
    return () => {
      observer.disconnect();
      letGo();
    };
  }, [editing, scroller, hold]);
}
