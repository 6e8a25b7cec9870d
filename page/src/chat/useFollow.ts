import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

/** This near to the end counts as being there. */
const NEAR_PX = 40;

export interface Follow {
  isAtEnd: boolean;
  onScroll: () => void;
  toEnd: () => void;
  /** Stay where the reader is, for a jump to somewhere else. */
  letGo: () => void;
  /** Stay while something opens, so that it does not move away under the pointer. */
  holdStill: () => void;
}

/** Keep the end in view while the reader is there; let go as soon as they scroll up. */
export function useFollow(
  element: HTMLElement | null,
  content: RefObject<HTMLElement | null>,
  conversationId: string,
): Follow {
  const follows = useRef(true);
  const lastTop = useRef(0);
  const [isAtEnd, setAtEnd] = useState(true);

  const stick = useCallback(() => {
    if (!element || !follows.current) return;
    element.scrollTop = element.scrollHeight;
    lastTop.current = element.scrollTop;
  }, [element]);

  const onScroll = useCallback(() => {
    if (!element) return;
    const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
    if (isNear) follows.current = true;
    // Text that grows moves the end away, not the reader; only going up means leaving.
    else if (element.scrollTop < lastTop.current - 1) follows.current = false;
    lastTop.current = element.scrollTop;
    setAtEnd(follows.current);
  }, [element]);

  const toEnd = useCallback(() => {
    follows.current = true;
    setAtEnd(true);
    stick();
  }, [stick]);

  const letGo = useCallback(() => {
    follows.current = false;
    setAtEnd(false);
  }, []);

  const holdStill = useCallback(() => {
    const didFollow = follows.current;
    follows.current = false;
    // Two frames: one draws what opened, the next knows its height.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        if (!element || !didFollow) return;
        follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
        setAtEnd(follows.current);
      }),
    );
  }, [element]);

  useLayoutEffect(toEnd, [toEnd, conversationId]);
  useEffect(() => {
    if (!content.current || !element) return;
    const observer = new ResizeObserver(stick);
    observer.observe(content.current);
    observer.observe(element);
    return () => observer.disconnect();
  }, [content, element, stick, conversationId]);

  return { isAtEnd, onScroll, toEnd, letGo, holdStill };
}
