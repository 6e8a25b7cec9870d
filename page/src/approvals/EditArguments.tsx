import { Button, Textarea } from "@mantine/core";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { AgreeButton } from "./AgreeButton";
import classes from "./Approvals.module.css";
import { asWritten, read, type Written } from "./editing";

interface EditProps {
  given: Record<string, unknown>;
  isArmed: boolean;
  isSending: boolean;
  onAllow: (changed: Record<string, unknown>) => void;
  onCancel: () => void;
}

/** What a call is given, to be changed: what is written here is what is recorded and carried out. */
export function EditArguments({ given, isArmed, isSending, onAllow, onCancel }: EditProps) {
  const [written, setWritten] = useState<Written>(() => asWritten(given));
  const editor = useRef<HTMLDivElement>(null);
  useEffect(() => editor.current?.querySelector("textarea")?.focus(), []);
  const { value, wrong } = read(given, written);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    // Elsewhere this key stops the answer.
    event.stopPropagation();
    onCancel();
  };
  return (
    <div ref={editor} className={classes.editor} role="group" aria-label="Change what it is given" onKeyDown={onKeyDown}>
      <div className={classes.fields}>
        {Object.entries(written).map(([name, text]) => (
          <Textarea
            key={name}
            label={name}
            classNames={{ label: classes.fieldLabel ?? "", input: "ph-mono" }}
            autosize
            minRows={1}
            maxRows={8}
            spellCheck={false}
            value={text}
            error={wrong.has(name) && "This is not JSON: strings in quotes, true, false, a number, a list or an object."}
            onChange={(event) => setWritten({ ...written, [name]: event.currentTarget.value })}
          />
        ))}
      </div>
      <div className={classes.buttons}>
        <AgreeButton isArmed={isArmed} disabled={isSending || wrong.size > 0} onAgree={() => onAllow(value)}>
          Allow as changed
        </AgreeButton>
        <Button size="compact-md" variant="default" onClick={onCancel}>
          Back
        </Button>
        <span className={classes.hint}>It is judged anew; what stands out is asked about again.</span>
      </div>
    </div>
  );
}
