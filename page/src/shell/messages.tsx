import { notifications } from "@mantine/notifications";
import { ApiError, errorText } from "../api/client";
import { isGone } from "./gone";
import { Said } from "./Said";

/** Return what to say of a failure that the page does not say already: that the server is gone stands in a banner. */
export function stillToSay(error: unknown): string {
  const isTold = error instanceof ApiError && error.problem.code === "unreachable" && isGone();
  return isTold ? "" : errorText(error);
}

/** Show a failure as one sentence at the edge of the page, once, however often it happens. */
export function tell(error: unknown): void {
  const message = stillToSay(error);
  if (!message) return;
  const id = `failed: ${message}`;
  notifications.hide(id);
  notifications.show({ id, color: "red", message: <Said text={message} />, autoClose: 8_000 });
}
