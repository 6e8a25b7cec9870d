import { Button, JsonInput } from "@mantine/core";
import { useMemo, useRef, useState, type FormEvent, type ReactNode } from "react";
import { answerOf, draftOf, type Draft, type Errors } from "./answers";
import { fieldOf, isRecord, type Schema } from "./fields";
import { FieldView } from "./FieldView";
import { focusError } from "./focusError";
import classes from "./Form.module.css";

export interface SchemaFormProps {
  /** What is asked for: an object, as tools and questions describe it. */
  schema: Schema;
  onSubmit: (value: Record<string, unknown>) => void;
  submitLabel: string;
  disabled?: boolean;
  /** Whether the answer may be written as JSON instead. */
  allowJson?: boolean;
  /** What the fields begin with, instead of the schema's defaults. */
  initial?: Record<string, unknown>;
  /** Buttons beside the one that submits. */
  actions?: ReactNode;
}

function parsedObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text.trim() || "{}");
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function useSchemaForm({ schema, onSubmit, initial }: SchemaFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const field = useMemo(() => ({ ...fieldOf(schema), label: "", help: "" }), [schema]);
  const [draft, setDraft] = useState<Draft>(() => draftOf(field, initial ?? field.initial));
  const [errors, setErrors] = useState<Errors>({});
  const [json, setJson] = useState<string | null>(null);
  const change = (next: Draft) => {
    setDraft(next);
    // Sentences go as soon as they are no longer true; new ones wait for the next try.
    const now: Errors = answerOf(field, next).errors ?? {};
    setErrors((before) => Object.fromEntries(Object.entries(before).filter(([path]) => now[path] === before[path])));
  };
  const fail = (found: Errors) => {
    setErrors(found);
    focusError(form.current);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // A form inside the chat must not be taken for the box of the next message.
    event.stopPropagation();
    if (json !== null) {
      const value = parsedObject(json);
      return value ? onSubmit(value) : fail({ "": "This is not a JSON object." });
    }
    const answer = answerOf(field, draft);
    return answer.errors ? fail(answer.errors) : onSubmit(answer.value as Record<string, unknown>);
  };
  const toggleJson = () => {
    setErrors({});
    if (json === null) return setJson(JSON.stringify(answerOf(field, draft).value ?? {}, null, 2));
    const value = parsedObject(json);
    if (value) setDraft(draftOf(field, value));
    return setJson(null);
  };
  return { form, field, draft, errors, json, setJson, change, submit, toggleJson };
}

/** A form made from a JSON Schema; what has no field of its own is written as JSON. */
export function SchemaForm(props: SchemaFormProps) {
  const { form, field, draft, errors, json, setJson, change, submit, toggleJson } = useSchemaForm(props);
  const isEmpty = field.kind === "object" && field.fields.length === 0;
  return (
    <form ref={form} onSubmit={submit} noValidate autoComplete="off" className={classes.form}>
      {json !== null ? (
        <JsonInput
          label="Arguments as JSON"
          autosize
          minRows={4}
          maxRows={20}
          spellCheck={false}
          classNames={{ input: "ph-mono" }}
          value={json}
          error={errors[""]}
          onChange={setJson}
        />
      ) : (
        <FieldView field={field} draft={draft} errors={errors} path="" onChange={change} />
      )}
      {isEmpty && json === null && <p className="ph-lead">Nothing to fill in.</p>}
      <div className="ph-actions">
        {props.allowJson && (
          <Button variant="subtle" color="gray" size="compact-sm" onClick={toggleJson}>
            {json === null ? "Write JSON instead" : "Use the form"}
          </Button>
        )}
        <span className="ph-space" />
        {props.actions}
        <Button type="submit" size="compact-md" disabled={props.disabled ?? false}>
          {props.submitLabel}
        </Button>
      </div>
    </form>
  );
}
