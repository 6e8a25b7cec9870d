import { Button } from "@mantine/core";
import classes from "./Sidebar.module.css";

/** Says what was deleted and offers it back. */
export function UndoToast({ title, onUndo }: { title: string; onUndo: () => void }) {
  return (
    <span className={classes.undo}>
      <span className={classes.undoText}>Deleted “{title}”.</span>
      <Button size="compact-sm" variant="light" onClick={onUndo}>
        Undo
      </Button>
    </span>
  );
}
