import type { Place, Sibling } from "../store/branches";
import { goToSibling } from "../store/branching";
import { getState } from "../store/store";
import { holdPlace, type Direction } from "./holding";

/** What the arrows of a place are to lead to. */
export interface Wish {
  /** The arrows that were pressed. */
  name: string;
  direction: Direction;
  place: Place;
  /** Which of those that stand there, counted from 0. */
  to: number;
  siblings: readonly Sibling[];
}

let wished: Wish | null = null;
let isUnderWay = false;

/** Return where the arrows of a place stand: at what is wished, though something else is still shown, or else at what is shown. */
export const standsAt = (name: string, shown: number) => (wished?.name === name ? wished.to : shown);

/** Show what is wished; the last wish wins, also over one that is on its way. */
export async function switchTo(wish: Wish): Promise<void> {
  wished = wish;
  if (isUnderWay) return;
  isUnderWay = true;
  const id = getState().open?.conversation.id;
  try {
    for (let shown: Wish | null = null; wished !== shown && getState().open?.conversation.id === id; ) {
      shown = wished;
      if (!shown) break;
      holdPlace(shown.name, shown.direction);
      await goToSibling(shown.place, shown.siblings);
    }
  } finally {
    wished = null;
    isUnderWay = false;
  }
}
