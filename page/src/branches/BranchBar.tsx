import { Button } from "@mantine/core";
import { useMemo } from "react";
import { useCommands } from "../shell/commands";
import { BranchIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { branchFrom, goToBranch } from "../store/branching";
import { useApp } from "../store/store";
import classes from "./Branches.module.css";

function NewBranch() {
  const commands = useMemo(
    () => [{ id: "no-branch", title: "Do not branch from here", keys: ["escape"], group: "Chat", run: () => branchFrom(null) }],
    [],
  );
  useCommands(commands);
  return (
    <div className={classes.bar} role="status">
      <BranchIcon size={16} />
      <span>New branch from here. What followed stays as it is.</span>
      <Button size="compact-sm" variant="default" onClick={() => branchFrom(null)}>
        Cancel
      </Button>
    </div>
  );
}

/** That the next message begins a branch, or that a replay is looked at, above the message box. */
export function BranchBar() {
  const isBranching = useApp((state) => state.branching !== null);
  const replay = useApp(({ open }) => {
    const shown = open?.branches.get(open.branch);
    return shown?.kind === "replay" ? shown : null;
  });
  const chosen = useApp((state) => state.open?.conversation.branch ?? 0);
  if (isBranching) return <NewBranch />;
  if (!replay) return null;
  return (
    <div className={classes.bar} role="status">
      <BranchIcon size={16} />
      <span>This is a replay: a run once more with the results that its tools gave then.</span>
      <Button size="compact-sm" variant="default" onClick={() => void goToBranch(chosen === replay.number ? replay.parent : chosen).catch(tell)}>
        Back to the conversation
      </Button>
    </div>
  );
}
