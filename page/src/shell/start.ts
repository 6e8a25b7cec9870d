import { getState } from "../store/store";
import { conversationPath, navigate } from "./router";

/** Put the cursor into the box for the next message. */
export function focusComposer(): void {
  requestAnimationFrame(() => document.getElementById("composer")?.focus());
}

function composer(): HTMLTextAreaElement | null {
  return document.querySelector("textarea#composer");
}

/** Tell whether there is something in the box to send. */
export function hasDraft(): boolean {
  return Boolean(composer()?.value.trim());
}

/** Send what is in the box, as its own button does. */
export function sendDraft(): void {
  composer()?.form?.requestSubmit();
}

/** Start a conversation: an empty box, ready to type. */
export function startNew(): void {
  navigate("/");
  focusComposer();
}

/** Go back to the conversation that was open, or to the start page. */
export function leave(): void {
  const { open } = getState();
  navigate(open ? conversationPath(open.conversation.id) : "/");
}
