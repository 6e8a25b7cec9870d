import type { ReactNode } from "react";
import { Fold } from "../chat/Fold";
import { seenFrom } from "../shell/paths";
import { useFolder } from "../shell/useFolder";
import type { Change, ChangedFile } from "./changes";
import classes from "./Diff.module.css";
import { Counts, DiffView } from "./DiffView";

/** A card shows the beginning of each diff. */
const PREVIEW_LINES = 12;

const words: Record<Change["kind"], string> = { created: "created", modified: "", deleted: "deleted", renamed: "moved" };

function remarkOf(change: Change, folder: string | null): string {
  const what = change.from ? `moved from ${seenFrom(folder, change.from)}` : words[change.kind];
  return [what, change.isUndone && "undone"].filter(Boolean).join(", ");
}

/** One change: its diff, or a line where there is nothing to compare. */
export function ChangeView({ change, isWhole, aside }: { change: Change; isWhole?: boolean; aside?: ReactNode }) {
  const folder = useFolder();
  return (
    <DiffView
      diff={change.diff}
      title={seenFrom(folder, change.path)}
      remark={remarkOf(change, folder)}
      added={change.added}
      removed={change.removed}
      isStruck={change.isUndone}
      aside={aside}
      {...(isWhole ? {} : { shownLines: PREVIEW_LINES })}
    />
  );
}

/** A changed file in one line that opens to what was done to it. */
export function FileRow({ file }: { file: ChangedFile }) {
  const folder = useFolder();
  const remark = file.isUndone ? "undone" : words[file.kind];
  const summary = (
    <span className={classes.file} data-struck={file.isUndone || undefined}>
      <span className={classes.fileName}>{seenFrom(folder, file.path)}</span>
      {remark && <span>{remark}</span>}
      <Counts added={file.added} removed={file.removed} />
    </span>
  );
  return (
    <Fold isWide summary={summary}>
      {() => file.changes.map((change, at) => <ChangeView key={change.id || at} change={change} isWhole />)}
    </Fold>
  );
}
