import { Button } from "@mantine/core";
import { EyeOffIcon } from "../shell/icons";
import classes from "./Branches.module.css";
import { showAgain } from "./hiding";

/** What the person hid, in one line. */
export function Hidden({ itemId, isMessage }: { itemId: string; isMessage: boolean }) {
  return (
    <div className={classes.hidden} data-own={isMessage || undefined}>
      <EyeOffIcon size={15} />
      <span>{isMessage ? "A message of yours is hidden." : "An answer is hidden."} Models are not sent it.</span>
      <Button size="compact-xs" variant="subtle" onClick={() => showAgain(itemId)}>
        Show again
      </Button>
    </div>
  );
}
