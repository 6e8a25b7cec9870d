import { notifications } from "@mantine/notifications";
import { errorText } from "../api/client";

/** Show a failure as one sentence at the edge of the page. */
export function tell(error: unknown): void {
  notifications.show({ color: "red", message: errorText(error), autoClose: 8_000 });
}
