import { Button } from "@mantine/core";
import { hands } from "../api/hands";
import type { CallItem } from "../api/types";
import { UndoIcon } from "../shell/icons";
import { filesOf, type Change } from "./changes";
import { ChangeView, FileRow } from "./ChangeView";
import { Conflicts } from "./Conflicts";
import classes from "./Diff.module.css";
import { useUndo, type Undo } from "./useUndo";

/** More files than this are a list. */
export const DRAWN_FILES = 3;

/** The way back, and what came of it. */
export function UndoButton({ undo, children }: { undo: Undo; children: string }) {
  return (
    <Button
      size="compact-xs"
      variant="default"
      className={classes.undo ?? ""}
      leftSection={<UndoIcon size={13} />}
      loading={undo.isBusy}
      onClick={undo.undo}
    >
      {children}
    </Button>
  );
}

/** What did not go as it should: a problem with asking, and files that were left alone. */
export function UndoOutcome({ undo }: { undo: Undo }) {
  return (
    <>
      {undo.problem && (
        <p className={classes.problem} role="alert">
          {undo.problem}
        </p>
      )}
      <Conflicts conflicts={undo.report?.conflicts ?? []} />
    </>
  );
}

/** What a call did to files, and the way back. */
export function CallChanges({ item, changes }: { item: CallItem; changes: readonly Change[] }) {
  const undo = useUndo(item.id, () => hands.undoCall(item.id));
  const button = changes.some((change) => !change.isUndone) && <UndoButton undo={undo}>Undo this change</UndoButton>;
  const isAlone = changes.length === 1;
  return (
    <div className={classes.changes}>
      {!isAlone && (
        <div className={classes.summary}>
          <span>{`${changes.length} files`}</span>
          {button}
        </div>
      )}
      {changes.length > DRAWN_FILES
        ? filesOf([item]).map((file) => <FileRow key={file.path} file={file} />)
        : changes.map((change, at) => <ChangeView key={change.id || at} change={change} aside={isAlone && button} />)}
      <UndoOutcome undo={undo} />
    </div>
  );
}
