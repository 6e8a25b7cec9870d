import { navigate } from "./router";

/** Put the cursor into the box for the next message. */
export function focusComposer(): void {
  requestAnimationFrame(() => document.getElementById("composer")?.focus());
}

/** Start a conversation: an empty box, ready to type. */
export function startNew(): void {
  navigate("/");
  focusComposer();
}
