import { Button } from "@mantine/core";
import classes from "./Sidebar.module.css";

/** Says what was done and offers it back. */
export function UndoToast({ said, onUndo }: { said: string; onUndo: () => void }) {
  return (
    <span className={classes.undo}>
      <span className={classes.undoText}>{said}</span>
      <Button size="compact-sm" variant="light" onClick={onUndo}>
        Undo
      </Button>
    </span>
  );
}
