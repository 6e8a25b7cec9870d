import { useEffect, useRef } from "react";
import { tell } from "../shell/messages";

type Receive = (files: File[]) => void;

interface Receiver {
  receive: Receive;
  /** What becomes of files that are dropped now, in one sentence. */
  hint: string;
}

/** Those that take what is dropped anywhere on the page; the last one gets it: a dialog lies above the page. */
const receivers: Receiver[] = [];

/** Return what to say while files are dragged. */
export const dropHint = () => receivers.at(-1)?.hint ?? "Files are attached in a conversation.";

/** Take the files that are dropped anywhere on the page, for as long as this is drawn. */
export function useDropped(receive: Receive, hint: string): void {
  const latest = useRef(receive);
  latest.current = receive;
  useEffect(() => {
    const mine: Receiver = { receive: (files) => latest.current(files), hint };
    receivers.push(mine);
    return () => void receivers.splice(receivers.indexOf(mine), 1);
  }, [hint]);
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

/** Give dropped files to who takes them; say in one sentence where they can be dropped when nobody does. */
export function drop(event: DragEvent): void {
  if (!hasFiles(event) && isEditable(event.target)) return;
  event.preventDefault();
  const files = [...(event.dataTransfer?.files ?? [])];
  if (!files.length) return;
  const receiver = receivers.at(-1);
  if (receiver) receiver.receive(files);
  else tell(new Error("Files are attached in a conversation. Open one and drop them there."));
}
