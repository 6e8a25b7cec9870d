import { useEffect, useState, type RefObject } from "react";

/** This near to the end counts as being there. */
const NEAR_PX = 8;

/** Tell whether more of a box is below what can be seen of it, and whether the end of the command in it was ever in view. */
export function useSeenToItsEnd(box: RefObject<HTMLElement | null>, isShown: boolean): { hasMore: boolean; wasSeen: boolean } {
  const [hasMore, setMore] = useState(false);
  const [wasSeen, setSeen] = useState(false);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = () => {
      const isMore = element.scrollHeight - element.scrollTop - element.clientHeight > NEAR_PX;
      setMore(isMore);
      const end = element.querySelector("[data-command]")?.getBoundingClientRect().bottom ?? 0;
      if (end <= element.getBoundingClientRect().bottom + NEAR_PX) setSeen(true);
    };
    const observer = new ResizeObserver(look);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    element.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [box, isShown]);
  return { hasMore, wasSeen };
}
