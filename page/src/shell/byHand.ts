import { isTyping } from "./commands";

/** A scroll this soon after the wheel, a finger or a key is the reader's own doing. */
const OWN_SCROLL_MS = 1_000;
const SCROLL_KEYS = /^(Page|Arrow|Home|End|Tab| )/;

let last = -Infinity;
let isPressed = false;

const isScroller = (target: EventTarget | null) =>
  target instanceof Element && target.scrollHeight > target.clientHeight && /auto|scroll/.test(getComputedStyle(target).overflowY);

/** Hear what begins a scroll; a press on the scrolled element itself is one on its bar, for as long as it lasts. */
function begin(event: Event): void {
  if (event instanceof KeyboardEvent && (!SCROLL_KEYS.test(event.key) || (event.key !== "Tab" && isTyping(event.target)))) return;
  if (event.type === "pointerdown" && !isScroller(event.target)) return;
  isPressed = event.type === "pointerdown";
  last = performance.now();
}

function end(): void {
  if (isPressed) last = performance.now();
  isPressed = false;
}

if (typeof document !== "undefined") {
  const quietly = { capture: true, passive: true };
  for (const name of ["wheel", "touchmove", "keydown", "pointerdown"]) document.addEventListener(name, begin, quietly);
  for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, end, quietly);
}

/** Tell whether a scroll that is heard of now is the reader's own, and not the page's. */
export const isByHand = () => isPressed || performance.now() - last < OWN_SCROLL_MS;

/** The page leads somewhere because it was asked to: what scrolls from now on is its own doing. */
export function endByHand(): void {
  last = -Infinity;
  isPressed = false;
}
