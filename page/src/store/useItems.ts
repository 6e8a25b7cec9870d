import { useRef } from "react";
import type { Item } from "../api/types";
import { useApp } from "./store";

const isSame = (a: readonly Item[], b: readonly Item[]) => a.length === b.length && a.every((item, at) => item === b[at]);

/** Draw with some items of the open conversation; what draws them rests while none of them changes. */
export function useItems(itemIds: readonly string[]): readonly Item[] {
  const last = useRef<readonly Item[]>([]);
  return useApp(({ open }) => {
    const now = itemIds.map((id) => open?.items.get(id)).filter((item) => item !== undefined);
    if (!isSame(last.current, now)) last.current = now;
    return last.current;
  });
}
