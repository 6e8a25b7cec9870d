import { Button } from "@mantine/core";
import { useState } from "react";
import type { CallItem } from "../api/types";
import { ToolTime } from "../servers/ToolTime";
import { USUAL_SECONDS } from "../servers/words";
import { useApp } from "../store/store";
import { toolOf } from "./call";
import classes from "./Calls.module.css";

/** The way from a call that was over too soon to the time of its tool. */
export function MoreTime({ item }: { item: CallItem }) {
  const [isOpen, setOpen] = useState(false);
  const meant = toolOf(item);
  const { timeoutSeconds } = item.data;
  const server = useApp((state) => state.servers.servers.find(({ id }) => id === meant?.serverId));
  if (!meant || !server) return null;
  return (
    <div className={classes.moreTime}>
      {isOpen ? (
        <ToolTime server={server} tool={meant.tool} suggested={2 * Math.ceil(timeoutSeconds ?? USUAL_SECONDS)} />
      ) : (
        <Button size="compact-xs" variant="default" onClick={() => setOpen(true)}>
          Give this tool more time
        </Button>
      )}
    </div>
  );
}
