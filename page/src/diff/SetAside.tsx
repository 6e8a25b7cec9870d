import { Button, Group } from "@mantine/core";
import { useState } from "react";
import { errorText } from "../api/client";
import { hands } from "../api/hands";
import type { NoticeItem } from "../api/types";
import { UndoButton, UndoOutcome } from "./CallChanges";
import { changesOf } from "./changes";
import { ChangeView } from "./ChangeView";
import classes from "./Diff.module.css";
import { useUndo } from "./useUndo";

/** What becomes of things that start by themselves and were set aside: the person puts them back, or drops them. */
export function SetAside({ item }: { item: NoticeItem }) {
  const { undone = [], dropped = false } = item.data;
  const putBack = useUndo(item.id, () => hands.undoCall(item.id));
  const [problem, setProblem] = useState("");
  const drop = () => void hands.dropAside(item.id).catch((error: unknown) => setProblem(errorText(error)));
  if (dropped || undone.length > 0) return <p className={classes.summary}>{dropped ? "Dropped." : "Put back."}</p>;
  return (
    <div className={classes.changes}>
      {changesOf(item).map((change) => (
        <ChangeView key={change.id} change={change} />
      ))}
      <Group gap="xs">
        <UndoButton undo={putBack}>Put back</UndoButton>
        <Button size="compact-xs" variant="default" onClick={drop}>
          Drop
        </Button>
      </Group>
      {problem && (
        <p className={classes.problem} role="alert">
          {problem}
        </p>
      )}
      <UndoOutcome undo={putBack} />
    </div>
  );
}
