import { Button, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { errorText } from "../api/client";
import { changeSettings } from "../store/actions";
import classes from "./Folder.module.css";
import { useFolder } from "./useFolder";

/** Sets the working directory of this conversation. */
export function FolderForm({ onDone }: { onDone?: () => void }) {
  const folder = useFolder();
  const [value, setValue] = useState(folder ?? "");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const save = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    changeSettings({ workingDirectory: value.trim() || null })
      .then(onDone, (error: unknown) => setProblem(errorText(error)))
      .finally(() => setBusy(false));
  };
  return (
    <form className={classes.form} onSubmit={save}>
      <TextInput
        label="Working directory"
        description="An absolute path on the machine where Pilothouse runs."
        placeholder="/path/to/project"
        spellCheck={false}
        autoComplete="off"
        value={value}
        error={problem}
        onChange={(event) => setValue(event.currentTarget.value)}
      />
      <Button type="submit" size="xs" loading={isBusy} disabled={value.trim() === (folder ?? "")}>
        {value.trim() || !folder ? "Use this folder" : "Use none"}
      </Button>
    </form>
  );
}
