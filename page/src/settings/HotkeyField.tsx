import { Button, TextInput } from "@mantine/core";
import { useEffect, useState, type KeyboardEvent } from "react";
import { errorText } from "../api/client";
import { changeConfig } from "./actions";
import { parseHotkey, pressedHotkey } from "./hotkey";
import classes from "./Settings.module.css";

/** What applies until a person chooses something else. */
const USUAL = "Cmd+Shift+Space";

/** The combination that is meant to bring Pilothouse to the front: typed, or recorded from the keys. */
export function HotkeyField({ saved }: { saved: string }) {
  const [text, setText] = useState(saved);
  const [isRecording, setRecording] = useState(false);
  const [error, setError] = useState("");
  useEffect(() => setText(saved), [saved]);
  const save = (wanted: string) => {
    const combination = parseHotkey(wanted);
    if (!combination) return setError("Write keys joined by +, with Cmd, Ctrl or Alt among them, for example Ctrl+Shift+Space.");
    setError("");
    setText(combination);
    if (combination !== saved) changeConfig({ globalHotkey: combination }).catch((failed: unknown) => setError(errorText(failed)));
  };
  const record = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !isRecording) return save(text);
    // Tab still leaves the field, and Escape still ends the recording.
    if (!isRecording || event.key === "Tab") return;
    event.preventDefault();
    event.stopPropagation();
    const combination = pressedHotkey(event.nativeEvent);
    if (event.key === "Escape") return setRecording(false);
    if (!combination) return;
    setRecording(false);
    save(combination);
  };
  return (
    <div className={classes.hotkey}>
      <TextInput
        id="global-hotkey"
        aria-label="Global hotkey"
        description="Kept in config.json for a program that opens Pilothouse from anywhere; a page in a browser hears keys only while it has the focus."
        inputWrapperOrder={["input", "description", "error"]}
        spellCheck={false}
        value={isRecording ? "Press the keys…" : text}
        readOnly={isRecording}
        error={error}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={record}
        onBlur={() => (isRecording ? setRecording(false) : save(text))}
      />
      <Button
        variant="default"
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => {
          setRecording(true);
          document.getElementById("global-hotkey")?.focus();
        }}
      >
        Record
      </Button>
      <Button variant="subtle" color="gray" disabled={saved === USUAL} onClick={() => save(USUAL)}>
        Reset
      </Button>
    </div>
  );
}
