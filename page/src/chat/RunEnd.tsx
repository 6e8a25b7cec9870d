import { Button } from "@mantine/core";
import { useState } from "react";
import { api } from "../api/client";
import type { Run } from "../api/types";
import { RetryIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { Said } from "../shell/Said";
import classes from "./Chat.module.css";

function Resume({ run, label }: { run: Run; label: string }) {
  const [isAsked, setAsked] = useState(false);
  const resume = () => {
    setAsked(true);
    api
      .resumeRun(run.id)
      .catch(tell)
      .finally(() => setAsked(false));
  };
  return (
    <Button
      size="compact-sm"
      variant="default"
      leftSection={<RetryIcon size={14} />}
      loading={isAsked}
      onClick={resume}
    >
      {label}
    </Button>
  );
}

/** How a run ended when it did not simply finish, and the way on. */
export function RunEnd({ run, isLatest }: { run: Run; isLatest: boolean }) {
  if (run.status === "cancelled") {
    return (
      <div className={classes.runEnd}>
        <span>Stopped by you.</span>
        {isLatest && <Resume run={run} label="Go on" />}
      </div>
    );
  }
  if (run.status === "interrupted") {
    return (
      <div className={classes.runEnd} data-tone="warning" role="alert">
        <span>{run.error?.message || "The program stopped before the answer was finished."} Nothing is lost.</span>
        <Resume run={run} label="Resume" />
      </div>
    );
  }
  if (run.status !== "failed") return null;
  return (
    <div className={classes.runEnd} data-tone="bad" role="alert">
      <span>
        <strong>
          <Said text={run.error?.message || "The answer failed."} />
        </strong>{" "}
        <Said text={run.error?.fix ?? ""} />
      </span>
      {isLatest && <Resume run={run} label="Try again" />}
    </div>
  );
}
