import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";
import { endByHand, isByHand } from "../shell/byHand";

/** This near to the end counts as being there. */
const NEAR_PX = 40;

/** What is opened has its height by then, also when it has to be fetched first. */
const OPENING_MS = 1_000;

const isNear = (element: HTMLElement) => element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;

/** Tell whether a scroll is the reader's. Lines above that find their height scroll too, and always where not all are drawn. */
const isReaders = (element: HTMLElement, heightBefore: number) =>
  isByHand() || (element.scrollHeight === heightBefore && !("virtual" in element.dataset));

/** Two frames: one draws what changed, the next knows its height. */
export const whenDrawn = (then: () => void) => requestAnimationFrame(() => requestAnimationFrame(then));

export interface Follow {
  isAtEnd: boolean;
  /** Something opens or closes: for this moment nothing is followed. */
  isHeld: boolean;
  onScroll: () => void;
  toEnd: () => void;
  /** Stay where the reader is, for a jump to somewhere else. */
  letGo: () => void;
  /** Follow nothing until what is returned is called; then whoever is at the end does. */
  hold: () => () => void;
  /** Hear of the button of something that is about to open or close: it must not move away under the pointer. */
  onToggle: (button: Element) => void;
}

/** Keep the end in view while the reader is there; let go as soon as they scroll up. What they send leads back to it. */
export function useFollow(
  element: HTMLElement | null,
  content: RefObject<HTMLElement | null>,
  conversationId: string,
  sent: number,
): Follow {
  const follows = useRef(true);
  const last = useRef({ top: 0, height: 0 });
  /** The buttons of what was opened by someone who followed: once all is closed, they follow again. */
  const opened = useRef(new Set<Element>());
  const [isAtEnd, setAtEnd] = useState(true);
  /** How many things are about to open or close: until they have, a scroll says nothing about the reader. */
  const toggling = useRef(0);
  const [isHeld, setHeld] = useState(false);

  const follow = useCallback((does: boolean) => {
    follows.current = does;
    if (does) opened.current.clear();
    setAtEnd(does);
  }, []);

  const stick = useCallback(() => {
    if (!element || !follows.current) return;
    element.scrollTop = element.scrollHeight;
    last.current = { top: element.scrollTop, height: element.scrollHeight };
  }, [element]);

  const onScroll = useCallback(() => {
    if (!element) return;
    const before = last.current;
    last.current = { top: element.scrollTop, height: element.scrollHeight };
    if (toggling.current && !isByHand()) return;
    if (isNear(element)) follow(true);
    // Text that grows moves the end away, not the reader; only going up means leaving.
    else if (element.scrollTop < before.top - 1 && isReaders(element, before.height)) {
      opened.current.clear();
      follow(false);
    } else stick();
  }, [element, follow, stick]);

  const toEnd = useCallback(() => {
    endByHand();
    follow(true);
    stick();
  }, [follow, stick]);

  const letGo = useCallback(() => follow(false), [follow]);

  const hold = useCallback(() => {
    follow(false);
    toggling.current += 1;
    return () => {
      toggling.current -= 1;
      follow(element !== null && isNear(element));
    };
  }, [element, follow]);

  /** Wait until what was opened has its height; a line that stays as it was, as with a menu, stops nobody. */
  const watch = useCallback(
    (button: Element, release: () => void) => {
      const line = button.closest<HTMLElement>("[data-line]");
      const [height, until] = [line?.offsetHeight, performance.now() + OPENING_MS];
      const look = () => {
        // Closed again, or the reader has left.
        if (!element || !opened.current.has(button)) return release();
        const isOut = line?.offsetHeight !== height && !isNear(element);
        if (!isOut && performance.now() < until) return void requestAnimationFrame(look);
        release();
        if (isOut) follow(false);
        else toEnd();
      };
      requestAnimationFrame(look);
    },
    [element, follow, toEnd],
  );

  const onToggle = useCallback(
    (button: Element) => {
      const closes = button.getAttribute("aria-expanded") === "true";
      const wasHeld = closes && opened.current.delete(button);
      const isOver = wasHeld && ![...opened.current].some((each) => each.isConnected);
      if (!closes && (follows.current || opened.current.size)) opened.current.add(button);
      const didFollow = follows.current;
      follows.current = false;
      toggling.current += 1;
      setHeld(true);
      const release = () => {
        toggling.current -= 1;
        setHeld(toggling.current > 0);
      };
      if (!closes && didFollow) return watch(button, release);
      whenDrawn(() => {
        release();
        if (isOver) toEnd();
        else follow(element !== null && isNear(element));
      });
    },
    [element, follow, toEnd, watch],
  );

  useLayoutEffect(toEnd, [toEnd, conversationId, sent]);
  useEffect(() => {
    if (!content.current || !element) return;
    const observer = new ResizeObserver(stick);
    observer.observe(content.current);
    observer.observe(element);
    return () => observer.disconnect();
  }, [content, element, stick, conversationId]);

  return { isAtEnd, isHeld, onScroll, toEnd, letGo, hold, onToggle };
}
