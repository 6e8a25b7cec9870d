import type { CallItem } from "../api/types";
import { PageLink } from "../shell/links";
import { keyPath } from "../shell/router";
import { useApp } from "../store/store";
import { toolOf } from "./call";
import classes from "./Calls.module.css";

/** The way from a call that failed to the key that its server lacks; nothing once it has it. */
export function GiveKey({ item }: { item: CallItem }) {
  const serverId = toolOf(item)?.serverId;
  const server = useApp((state) => state.servers.servers.find(({ id }) => id === serverId));
  const key = server?.keys.find(({ source }) => source === "missing");
  if (!server || !key) return null;
  return (
    <p className={classes.moreTime}>
      <PageLink path={keyPath(server.id)}>
        Give {server.name} its key: {key.label}
      </PageLink>
    </p>
  );
}
