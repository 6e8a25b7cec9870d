import { Button } from "@mantine/core";
import { useState } from "react";
import { api } from "../api/client";
import type { Item, NoticeItem, Run } from "../api/types";
import { RetryIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { Said } from "../shell/Said";
import { useApp } from "../store/store";
import classes from "./Chat.module.css";
import { latestRun } from "./rows";

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

const goesOn = (item: Item | undefined) => item?.kind === "response" && (item.data.goOn ?? false);

/** That an answer was cut by a limit, and the way on; once it goes on there is nothing to tell. */
export function CutShort({ item }: { item: NoticeItem }) {
  const { response, fix = "" } = item.data;
  const hasGoneOn = useApp(({ open }) => goesOn(open?.items.get(response ?? "")));
  const latest = useApp(({ open }) => open && latestRun(open.runs));
  if (hasGoneOn) return null;
  const isOpen = latest?.id === item.runId && latest?.cut;
  return (
    <div className={`${classes.runEnd} ph-warning`} data-tone role="alert">
      <span>
        <strong>
          <Said text={item.text} />
        </strong>{" "}
        {isOpen && <Said text={fix} />}
      </span>
      {isOpen && <Resume run={latest} label="Go on" />}
    </div>
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
      <div className={`${classes.runEnd} ph-warning`} data-tone role="alert">
        <span>{run.error?.message || "The program stopped before the answer was finished."} Nothing is lost.</span>
        <Resume run={run} label="Resume" />
      </div>
    );
  }
  if (run.status !== "failed") return null;
  return (
    <div className={`${classes.runEnd} ph-bad`} data-tone role="alert">
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
