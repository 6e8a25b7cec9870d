import { useLayoutEffect } from "react";
import { whenDrawn, type Follow } from "../chat/useFollow";

export type Direction = "previous" | "next";

/** Where the arrows stood that were pressed; they must not move away under the pointer. */
let held: { name: string; top: number; direction: Direction } | null = null;

const find = (name: string) => document.querySelector<HTMLElement>(`[data-place="${CSS.escape(name)}"]`);

/** Remember where some arrows stand before what they switch changes. */
export function holdPlace(name: string, direction: Direction): void {
  const top = find(name)?.getBoundingClientRect().top;
  held = top === undefined ? null : { name, top, direction };
}

/** Once another path is shown, keep the arrows that led to it where they were, and the focus on them; whoever is at its end
 * by then follows it. */
export function usePlaceHeld(branch: number, scroller: HTMLElement | null, hold: Follow["hold"]): void {
  useLayoutEffect(() => {
    if (!held || !scroller) return;
    const { name, top, direction } = held;
    held = null;
    const release = hold();
    const settle = () => {
      const now = find(name);
      if (now) scroller.scrollTop += now.getBoundingClientRect().top - top;
      return now;
    };
    settle()?.querySelector<HTMLElement>(`[data-direction=${direction}]`)?.focus({ preventScroll: true });
    // What comes into view finds its height, and what comes into view by that.
    whenDrawn(() => {
      settle();
      whenDrawn(() => {
        settle();
        release();
      });
    });
  }, [branch]);
}
