import { ActionIcon, Button } from "@mantine/core";
import { api } from "../api/client";
import type { ServerView } from "../api/types";
import { Confirm } from "../settings/Confirm";
import { MinusIcon, PlusIcon } from "../shell/icons";
import { changeServers } from "./actions";
import classes from "./Servers.module.css";

interface ToolbarProps {
  /** The server that Edit and Delete are about; without one they rest. */
  chosen: ServerView | null;
  onAdd: () => void;
  onEdit: () => void;
  onImport: () => void;
}

/** What is done with the list: take one out, add one, edit one, import many. */
export function Toolbar({ chosen, onAdd, onEdit, onImport }: ToolbarProps) {
  const question = `Delete "${chosen?.name ?? ""}"? This will remove the MCP and its stored credentials.`;
  const remove = async () => {
    if (chosen) await changeServers(api.removeServer(chosen.id));
  };
  return (
    <div role="toolbar" aria-label="MCP servers" className={`ph-toolbar ${classes.toolbar}`}>
      <Confirm question={question} action="Delete" cancel="Cancel" onConfirm={remove}>
        {(ask) => (
          <ActionIcon aria-label="Delete the server" disabled={!chosen} onClick={ask}>
            <MinusIcon size={16} />
          </ActionIcon>
        )}
      </Confirm>
      <Button size="compact-sm" variant="default" leftSection={<PlusIcon size={14} />} onClick={onAdd}>
        Add a server
      </Button>
      <Button size="compact-sm" variant="subtle" color="gray" disabled={!chosen} onClick={onEdit}>
        Edit
      </Button>
      <span className="ph-space" />
      <Button size="compact-sm" variant="subtle" color="gray" onClick={onImport}>
        Import…
      </Button>
    </div>
  );
}
