import { ActionIcon, Tooltip } from "@mantine/core";
import { keyLabel } from "../shell/commands";
import { TreeIcon } from "../shell/icons";
import { useApp } from "../store/store";
import classes from "./Branches.module.css";
import { openTree } from "./opened";

/** Shows all branches of a conversation that has some. */
export function TreeButton() {
  const count = useApp((state) => state.open?.conversation.branches ?? 0);
  if (!count) return null;
  return (
    <Tooltip label={`${count + 1} branches (${keyLabel("alt+b")})`}>
      <ActionIcon size="lg" className={classes.treeButton ?? ""} aria-label="Branches" onClick={openTree}>
        <TreeIcon />
      </ActionIcon>
    </Tooltip>
  );
}
