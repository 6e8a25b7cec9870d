import { Button } from "@mantine/core";
import { EyeOffIcon } from "../shell/icons";
import { useApp } from "../store/store";
import { Arrows } from "./Arrows";
import classes from "./Branches.module.css";
import { showAgain } from "./hiding";

interface HiddenProps {
  itemId: string;
  /** The message that was hidden, or that was answered. */
  messageId: string | null;
  isMessage: boolean;
}

/** What the person hid, in one line. */
export function Hidden({ itemId, messageId, isMessage }: HiddenProps) {
  const message = useApp((state) => state.open?.items.get(messageId ?? ""));
  const isEdited = useApp((state) => isMessage && state.editing === itemId);
  return (
    <div className={classes.hidden} data-own={isMessage || undefined}>
      <EyeOffIcon size={15} />
      {isEdited ? (
        <span role="alert">This message was hidden meanwhile. Show it again to edit it. What you typed is kept.</span>
      ) : (
        <span>{isMessage ? "A message of yours is hidden." : "An answer is hidden."} Models are not sent it.</span>
      )}
      <Button size="compact-xs" variant="subtle" onClick={() => showAgain(itemId)}>
        Show again
      </Button>
      <Arrows message={message?.kind === "user_message" ? message : undefined} what={isMessage ? "message" : "answer"} />
    </div>
  );
}
