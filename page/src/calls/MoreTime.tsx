import { Button } from "@mantine/core";
import { useState } from "react";
import type { Item } from "../api/types";
import { ToolTime } from "../servers/ToolTime";
import { USUAL_SECONDS } from "../servers/words";
import { useApp } from "../store/store";
import { toolOf } from "./call";
import classes from "./Calls.module.css";

/** The way from a call that was over too soon to the time of its tool. */
export function MoreTime({ item }: { item: Item }) {
  const [isOpen, setOpen] = useState(false);
  const meant = toolOf(item);
  const limit = typeof item.data.timeoutSeconds === "number" ? item.data.timeoutSeconds : USUAL_SECONDS;
  const server = useApp((state) => state.servers.servers.find(({ id }) => id === meant?.serverId));
  if (!meant || !server) return null;
  return (
    <div className={classes.moreTime}>
      {isOpen ? (
        <ToolTime server={server} tool={meant.tool} suggested={2 * Math.ceil(limit)} />
      ) : (
        <Button size="compact-xs" variant="default" onClick={() => setOpen(true)}>
          Give this tool more time
        </Button>
      )}
    </div>
  );
}
