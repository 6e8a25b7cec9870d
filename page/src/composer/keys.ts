import { useMediaQuery } from "@mantine/hooks";
import { useApp } from "../store/store";

interface Press {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
  isComposing: boolean;
  keyCode: number;
}

/** What a browser calls every key that an input method is still making a letter of. */
const COMPOSING = 229;

/** Tell whether a key press in a box sends what stands in it; Ctrl or Cmd with Enter always does. */
export function sends(press: Press, enterSends: boolean): boolean {
  // While letters are being composed Enter chooses them; Safari says so only by the number of the key.
  if (press.key !== "Enter" || press.isComposing || press.keyCode === COMPOSING) return false;
  return press.ctrlKey || press.metaKey || (enterSends && !press.shiftKey && !press.altKey);
}

/** Tell whether Enter alone sends: as the person chose, and never on touch, where no Shift Enter could break a line. */
export function useEnterSends(): boolean {
  const isTouch = useMediaQuery("(pointer: coarse)", false, { getInitialValueInEffect: false });
  const isChosen = useApp((state) => state.config?.enterSends ?? true);
  return isChosen && !isTouch;
}

/** Return the keys of a box: those that send, and the one that breaks the line. */
export function boxKeys(enterSends: boolean): { send: readonly string[]; breaks: string } {
  return enterSends
    ? { send: ["enter", "mod+enter"], breaks: "shift+enter" }
    : { send: ["mod+enter"], breaks: "enter" };
}
