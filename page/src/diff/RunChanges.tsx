import { hands } from "../api/hands";
import { useItems } from "../store/useItems";
import { DRAWN_FILES, UndoButton, UndoOutcome } from "./CallChanges";
import { filesOf } from "./changes";
import { ChangeView, FileRow } from "./ChangeView";
import classes from "./Diff.module.css";
import { useUndo } from "./useUndo";

const counted = (count: number) => (count === 1 ? "1 file" : `${count} files`);

/** What a run did to files, below its last item: the list, and one way back for all of it. */
export function RunChanges({ runId, itemIds }: { runId: string; itemIds: readonly string[] }) {
  const files = filesOf(useItems(itemIds));
  const undo = useUndo(runId, () => hands.undoRun(runId));
  const standing = files.filter((file) => !file.isUndone).length;
  const changes = files.flatMap((file) => file.changes);
  if (!files.length) return null;
  return (
    <section className={classes.run} aria-label="Changed files">
      <div className={classes.summary}>
        <span>{standing ? `This run changed ${counted(standing)}` : `All changes of this run are undone`}</span>
        {standing > 0 && <UndoButton undo={undo}>Undo all changes of this run</UndoButton>}
      </div>
      {/* A few changes are in view: they are what was wanted. */}
      {changes.length <= DRAWN_FILES
        ? changes.map((change, at) => <ChangeView key={change.id || at} change={change} />)
        : files.map((file) => <FileRow key={file.path} file={file} />)}
      <UndoOutcome undo={undo} />
    </section>
  );
}
