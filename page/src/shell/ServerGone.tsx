import { Button } from "@mantine/core";
import { memo } from "react";
import { reconnect } from "../store/session";
import classes from "./App.module.css";
import { useGone } from "./gone";
import { WarningIcon } from "./icons";

const words = {
  reconnecting: "The page tries again by itself and then goes on where it was; what you write stays here. If Pilothouse was stopped, start it again.",
  offline: "This computer has no network. The page goes on by itself once it is back; what you write stays here.",
};

/** Says that the server cannot be reached and what happens next; goes away by itself. */
export const ServerGone = memo(() => {
  const gone = useGone();
  return (
    <div role="status" className={classes.goneBox}>
      {gone && (
        <div className={classes.gone} data-gone={gone}>
          <WarningIcon size={16} />
          <span>
            <strong>Pilothouse cannot be reached.</strong> {words[gone]}
          </span>
          <Button size="compact-sm" variant="default" onClick={reconnect}>
            Try now
          </Button>
        </div>
      )}
    </div>
  );
});
