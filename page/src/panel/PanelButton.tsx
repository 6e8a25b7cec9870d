import { ActionIcon, Tooltip } from "@mantine/core";
import { keyLabel } from "../shell/commands";
import { PanelIcon } from "../shell/icons";
import { togglePanel, usePanel } from "./state";

/** Shows and hides what stands beside the chat. */
export function PanelButton() {
  const { isOpen } = usePanel();
  return (
    <Tooltip label={`Todos, terminal, changes, context (${keyLabel("alt+p")})`}>
      <ActionIcon size="lg" aria-label="Panel" aria-pressed={isOpen} onClick={togglePanel}>
        <PanelIcon />
      </ActionIcon>
    </Tooltip>
  );
}
