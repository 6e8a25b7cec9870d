import { useEffect, useRef } from "react";
import { tell } from "../shell/messages";

type Receive = (files: File[]) => void;

/** The box that takes what is dropped anywhere on the page; null where there is none. */
let receiver: Receive | null = null;

/** Tell whether something on the page takes files now. */
export const takesFiles = () => receiver !== null;

/** Take the files that are dropped anywhere on the page, for as long as this is drawn. */
export function useDropped(receive: Receive): void {
  const latest = useRef(receive);
  latest.current = receive;
  useEffect(() => {
    const mine: Receive = (files) => latest.current(files);
    receiver = mine;
    return () => {
      if (receiver === mine) receiver = null;
    };
  }, []);
}

const isEditable = (target: EventTarget | null) =>
  target instanceof Element && target.closest("input, textarea, [contenteditable=true]") !== null;

/** Tell whether files are dragged; text and addresses mean what they always mean in a box, and nothing elsewhere. */
export const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;

/** Keep the browser from opening what is dragged over the page. */
export function hover(event: DragEvent): void {
  if (!hasFiles(event) && isEditable(event.target)) return;
  event.preventDefault();
  // Files may be dropped everywhere, if only to hear where they go: a drop that is refused is not heard of.
  if (event.dataTransfer) event.dataTransfer.dropEffect = hasFiles(event) ? "copy" : "none";
}

/** Give dropped files to the box; say in one sentence where they can be dropped when there is none. */
export function drop(event: DragEvent): void {
  if (!hasFiles(event) && isEditable(event.target)) return;
  event.preventDefault();
  const files = [...(event.dataTransfer?.files ?? [])];
  if (!files.length) return;
  if (receiver) receiver(files);
  else tell(new Error("Files are attached in a conversation. Open one and drop them there."));
}
