import { Popover, Tooltip, UnstyledButton } from "@mantine/core";
import { useState } from "react";
import { useApp } from "../store/store";
import classes from "./Folder.module.css";
import { FolderForm } from "./FolderForm";
import { FolderIcon } from "./icons";
import { withoutEnd } from "./paths";
import { useFolder } from "./useFolder";

const lastPart = (path: string) => withoutEnd(path).split("/").pop() || path;

/** Shows where tools read, write and run in this conversation, and changes it. */
export function WorkingFolder() {
  const [opened, setOpened] = useState(false);
  const id = useApp((state) => state.open?.conversation.id ?? "new");
  const folder = useFolder();
  return (
    <Popover opened={opened} onChange={setOpened} width={320} position="bottom-end" trapFocus returnFocus>
      <Popover.Target>
        <Tooltip label={folder ?? "No working directory"} disabled={opened}>
          <UnstyledButton
            className={classes.chip ?? ""}
            aria-label={folder ? `Working directory: ${folder}` : "no folder: choose a working directory"}
            onClick={() => setOpened(!opened)}
          >
            <FolderIcon size={16} />
            <span className={classes.name}>{folder ? lastPart(folder) : "no folder"}</span>
          </UnstyledButton>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown aria-label="Working directory">
        <FolderForm key={`${id} ${folder}`} onDone={() => setOpened(false)} />
      </Popover.Dropdown>
    </Popover>
  );
}
