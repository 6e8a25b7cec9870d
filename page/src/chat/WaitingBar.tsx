import { Button } from "@mantine/core";
import { titleOf } from "../approvals/asked";
import { counted } from "../servers/words";
import { Seen } from "../servers/Plain";
import { QuestionIcon } from "../shell/icons";
import { useApp } from "../store/store";
import classes from "./Chat.module.css";
import type { OutOfSight } from "./useOutOfSight";

/** Says what waits for the person while they read elsewhere, and leads to it. */
export function WaitingBar({ itemId, count, onShow }: OutOfSight & { onShow: () => void }) {
  const words = useApp(({ open }) => {
    const item = open?.items.get(itemId);
    if (!item) return "";
    return item.data.kind === "approval" ? titleOf(item) : item.text;
  });
  return (
    <div className={classes.waitingBar} role="group" aria-label="Waiting for you">
      <QuestionIcon size={16} />
      <span className={classes.waitingWords}>
        <strong>{count > 1 ? `${counted(count, "question")} wait for you:` : "Waiting for you:"}</strong> <Seen text={words} />
      </span>
      <Button size="compact-sm" onClick={onShow}>
        Show
      </Button>
    </div>
  );
}
