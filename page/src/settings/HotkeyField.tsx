import { Button, TextInput } from "@mantine/core";
import { useEffect, useState, type KeyboardEvent } from "react";
import { errorText } from "../api/client";
import { changeConfig } from "./actions";
import { parseHotkey, pressedHotkey } from "./hotkey";
import classes from "./Settings.module.css";

/** What applies until a person chooses something else. */
const USUAL = "Cmd+Shift+Space";
const NO_HOTKEY = "Write keys joined by +, with Cmd, Ctrl or Alt among them, for example Ctrl+Shift+Space.";

function focusField(): void {
  document.getElementById("global-hotkey")?.focus();
}

function useHotkey(saved: string) {
  const [text, setText] = useState(saved);
  const [isRecording, setRecording] = useState(false);
  const [error, setError] = useState("");
  useEffect(() => setText(saved), [saved]);
  const save = (wanted: string) => {
    const combination = parseHotkey(wanted);
    setError(combination ? "" : NO_HOTKEY);
    if (!combination) return;
    setText(combination);
    if (combination === saved) return;
    changeConfig({ globalHotkey: combination }).catch((failed: unknown) => setError(errorText(failed)));
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !isRecording) return save(text);
    // Tab still leaves the field, and Escape still ends the recording.
    if (!isRecording || event.key === "Tab") return;
    event.preventDefault();
    event.stopPropagation();
    const combination = pressedHotkey(event.nativeEvent);
    if (combination || event.key === "Escape") setRecording(false);
    if (combination) save(combination);
  };
  return { text, setText, isRecording, setRecording, error, save, press };
}

/** The combination that is meant to bring Pilothouse to the front: typed, or recorded from the keys. */
export function HotkeyField({ saved }: { saved: string }) {
  const { text, setText, isRecording, setRecording, error, save, press } = useHotkey(saved);
  const record = () => {
    setRecording(true);
    focusField();
  };
  const reset = () => {
    save(USUAL);
    // The button goes away with the click.
    focusField();
  };
  return (
    <div className={classes.hotkey}>
      <TextInput
        id="global-hotkey"
        aria-label="Global hotkey"
        aria-describedby="global-hotkey-use"
        spellCheck={false}
        value={isRecording ? "Press the keys…" : text}
        readOnly={isRecording}
        error={error}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={press}
        onBlur={() => (isRecording ? setRecording(false) : save(text))}
      />
      <Button variant="default" onMouseDown={(event) => event.preventDefault()} onClick={record}>
        Record
      </Button>
      {saved !== USUAL && (
        <Button variant="subtle" color="gray" onClick={reset}>
          Reset
        </Button>
      )}
      <p id="global-hotkey-use" className={classes.hotkeyUse}>
        Kept in config.json for a program that opens Pilothouse from anywhere; a page in a browser hears keys only while
        it has the focus.
      </p>
    </div>
  );
}
