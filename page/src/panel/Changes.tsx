import { useMemo } from "react";
import { filesOf } from "../diff/changes";
import { FileRow } from "../diff/ChangeView";
import { Counts } from "../diff/DiffView";
import { seenFrom } from "../shell/paths";
import { useFolder } from "../shell/useFolder";
import { useApp } from "../store/store";
import classes from "./Panel.module.css";

/** Every file that the runs of this conversation changed. */
export function Changes() {
  const items = useApp((state) => state.open?.items);
  const hasEarlier = useApp((state) => state.open?.hasEarlier ?? false);
  const folder = useFolder();
  const files = useMemo(
    () => filesOf([...(items?.values() ?? [])]).sort((a, b) => (seenFrom(folder, a.path) < seenFrom(folder, b.path) ? -1 : 1)),
    [items, folder],
  );
  const standing = files.filter((file) => !file.isUndone);
  const sum = (count: "added" | "removed") => standing.reduce((total, file) => total + file[count], 0);
  if (!files.length) return <p className={`ph-lead ${classes.empty}`}>No file was changed in this conversation.</p>;
  return (
    <div className={classes.changes}>
      <p className={classes.line}>
        <span>{standing.length === 1 ? "1 file changed" : `${standing.length} files changed`}</span>
        <Counts added={sum("added")} removed={sum("removed")} />
      </p>
      {files.map((file) => (
        <FileRow key={file.path} file={file} />
      ))}
      {hasEarlier && <p className={classes.quiet}>Changes of messages that are not loaded yet are not listed; scroll up in the chat.</p>}
    </div>
  );
}
