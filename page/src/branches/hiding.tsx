import { notifications } from "@mantine/notifications";
import { branchesApi } from "../api/branches";
import { UndoToast } from "../conversations/UndoToast";
import { tell } from "../shell/messages";

/** Show a hidden message or answer again. */
export function showAgain(itemId: string): void {
  notifications.hide(`hidden-${itemId}`);
  branchesApi.show(itemId).catch(tell);
}

/** Hide a message or an answer from models, and offer it back for a while. */
export async function hideWithUndo(itemId: string, what: "message" | "answer"): Promise<void> {
  await branchesApi.hide(itemId);
  notifications.show({
    id: `hidden-${itemId}`,
    message: <UndoToast said={`Hidden: models are not sent this ${what}.`} onUndo={() => showAgain(itemId)} />,
    autoClose: 12_000,
    withCloseButton: true,
  });
}
