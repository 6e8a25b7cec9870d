import { Checkbox, Tooltip } from "@mantine/core";
import { memo, useState } from "react";
import type { ServerView } from "../api/types";
import { tell } from "../shell/messages";
import { ServerDetails } from "./ServerDetails";
import classes from "./Servers.module.css";
import { lacking } from "./serverKeys";
import { ActionChip, StatusChip } from "./StatusChip";
import { stateName, waiting } from "./words";

/** What a row can open. */
export type Opening = "consent" | "sign-in" | "key" | "tools" | "log" | "newer" | "export";

export interface ServerRowProps {
  server: ServerView;
  isSelected: boolean;
  onSelect: (id: string | null) => void;
  onToggle: (server: ServerView, enabled: boolean) => Promise<void>;
  onOpen: (kind: Opening) => void;
}

function Enabled({ server, onToggle }: Pick<ServerRowProps, "server" | "onToggle">) {
  // The tick shows at once; what the server kept has the last word.
  const [wanted, setWanted] = useState<boolean | null>(null);
  const change = (enabled: boolean) => {
    setWanted(enabled);
    onToggle(server, enabled)
      .catch(tell)
      .finally(() => setWanted(null));
  };
  return (
    <Checkbox
      aria-label={`Use ${server.name}`}
      className={classes.tick}
      checked={wanted ?? server.enabled}
      onChange={(event) => change(event.currentTarget.checked)}
    />
  );
}

/** Tell whether the chip names the error that the open row tells. */
const isTold = ({ lastError, label }: ServerView) => lastError !== "" && label.includes(lastError);

/** Tell whether a server can do nothing without its person: then that stands in place of its state. */
const isStuck = (server: ServerView) =>
  server.state === "needs_sign_in" || (server.state === "error" && lacking(server).length > 0);

/** What a server waits for, as a chip that leads there; nothing while it waits for nothing of the kind. */
function WaitsFor({ server, onOpen }: Pick<ServerRowProps, "server" | "onOpen">) {
  const { name, state, label } = server;
  if (state === "needs_sign_in") {
    return <ActionChip state={state} label={label} name={`${label} to ${name}`} onClick={() => onOpen("sign-in")} />;
  }
  const keys = lacking(server).map((key) => key.label);
  if (keys.length === 0) return null;
  const words = `Needs ${keys.length > 1 ? "keys" : "a key"}`;
  const shown = isStuck(server) ? state : undefined;
  return <ActionChip state={shown} label={words} name={`${words} for ${name}: ${keys.join(", ")}`} onClick={() => onOpen("key")} />;
}

function Row(props: ServerRowProps) {
  const { server, isSelected, onSelect, onOpen } = props;
  const attention = waiting(server);
  return (
    <li className={classes.row} data-server={server.id} data-selected={isSelected || undefined} aria-label={server.name}>
      <div className={classes.line}>
        <Enabled {...props} />
        <Tooltip
          label={server.lastError}
          disabled={!server.lastError || isSelected}
          multiline
          maw={420}
          events={{ hover: true, focus: true, touch: false }}
        >
          <button
            type="button"
            data-pick
            className={classes.pick}
            aria-expanded={isSelected}
            onClick={() => onSelect(isSelected ? null : server.id)}
          >
            <span className={classes.who}>
              <span className={classes.name}>{server.name}</span>
              <span className={classes.address}>{server.address}</span>
            </span>
            {attention && <span className={classes.attention}>{attention}</span>}
            {/* What went wrong stands below, in full. */}
            {!isStuck(server) && (
              <StatusChip state={server.state} label={isSelected && isTold(server) ? stateName(server.state) : server.label} />
            )}
          </button>
        </Tooltip>
        <WaitsFor {...props} />
      </div>
      {isSelected && <ServerDetails server={server} onOpen={onOpen} />}
    </li>
  );
}

/** One server in the list; only those that changed are drawn again. */
export const ServerRow = memo(Row, (before, now) => before.server === now.server && before.isSelected === now.isSelected);
