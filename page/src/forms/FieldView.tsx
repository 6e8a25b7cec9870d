import { ActionIcon, Button, Checkbox, JsonInput, MultiSelect, Select, Textarea, TextInput } from "@mantine/core";
import { CloseIcon, PlusIcon } from "../shell/icons";
import { draftOf, type Draft, type Errors } from "./answers";
import { isRecord, type Field } from "./fields";
import classes from "./Form.module.css";

interface FieldProps<F extends Field = Field> {
  field: F;
  draft: Draft;
  errors: Errors;
  path: string;
  onChange: (draft: Draft) => void;
}

type Of<K extends Field["kind"]> = FieldProps<Extract<Field, { kind: K }>>;

/** What every control is told about itself. */
function told({ field, errors, path }: FieldProps) {
  return {
    label: field.label || undefined,
    // A row of a list has no label of its own.
    "aria-label": field.label ? undefined : `Row ${Number(path.split("/").pop()) + 1}`,
    description: field.help || undefined,
    required: field.required && field.name !== "",
    error: errors[path],
  };
}

const inputTypes: Record<string, string> = { email: "email", uri: "url", date: "date" };

function TextField(props: Of<"text">) {
  const { field, draft, onChange } = props;
  const shared = { ...told(props), value: String(draft ?? ""), spellCheck: false };
  if (field.isLong) {
    return (
      <Textarea {...shared} autosize minRows={2} maxRows={12} onChange={(event) => onChange(event.currentTarget.value)} />
    );
  }
  return (
    <TextInput
      {...shared}
      type={inputTypes[field.format] ?? "text"}
      placeholder={field.format === "date-time" ? "2026-12-31T18:00:00Z" : undefined}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function NumberField(props: Of<"number">) {
  const { field, draft, onChange } = props;
  return (
    <TextInput
      {...told(props)}
      inputMode={field.whole ? "numeric" : "decimal"}
      placeholder={bounds(field.min, field.max)}
      value={String(draft ?? "")}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function bounds(min: number | null, max: number | null): string | undefined {
  if (min !== null && max !== null) return `${min} to ${max}`;
  if (min !== null) return `${min} or more`;
  return max === null ? undefined : `${max} or less`;
}

function BooleanField(props: Of<"boolean">) {
  const { required: _, ...words } = told(props);
  return (
    <Checkbox {...words} checked={props.draft === true} onChange={(event) => props.onChange(event.currentTarget.checked)} />
  );
}

const data = (options: Of<"choice">["field"]["options"]) => options.map(({ label }, at) => ({ value: String(at), label }));

function ChoiceField(props: Of<"choice">) {
  const { field, draft, onChange } = props;
  return (
    <Select
      {...told(props)}
      data={data(field.options)}
      clearable={!field.required}
      allowDeselect={!field.required}
      searchable={field.options.length > 10}
      value={typeof draft === "string" ? draft : null}
      onChange={(value) => onChange(value ?? undefined)}
    />
  );
}

function SeveralField(props: Of<"several">) {
  return (
    <MultiSelect
      {...told(props)}
      data={data(props.field.options)}
      value={Array.isArray(props.draft) ? (props.draft as string[]) : []}
      onChange={props.onChange}
    />
  );
}

function ListField(props: Of<"list">) {
  const { field, draft, errors, path, onChange } = props;
  const rows = Array.isArray(draft) ? draft : [];
  const replace = (at: number, row: Draft) => onChange(rows.map((other, place) => (place === at ? row : other)));
  return (
    <fieldset className={classes.group}>
      <Legend field={field} />
      {rows.map((row, at) => (
        <div key={at} className={classes.row}>
          <div className={classes.rowField}>
            <FieldView field={field.item} draft={row} errors={errors} path={`${path}/${at}`} onChange={(next) => replace(at, next)} />
          </div>
          <ActionIcon
            aria-label={`Remove row ${at + 1}${field.label ? ` of ${field.label}` : ""}`}
            onClick={() => onChange(rows.filter((_, place) => place !== at))}
          >
            <CloseIcon size={15} />
          </ActionIcon>
        </div>
      ))}
      {errors[path] && <p className="ph-field-error">{errors[path]}</p>}
      <Button
        size="compact-xs"
        variant="default"
        leftSection={<PlusIcon size={13} />}
        onClick={() => onChange([...rows, draftOf(field.item)])}
      >
        Add{field.label ? ` to ${field.label}` : ""}
      </Button>
    </fieldset>
  );
}

function Legend({ field }: { field: Field }) {
  return (
    <>
      {field.label && (
        <legend className={classes.legend}>
          {field.label}
          {field.required && field.name && <span className={classes.required}> *</span>}
        </legend>
      )}
      {field.help && <p className={classes.help}>{field.help}</p>}
    </>
  );
}

function ObjectField({ field, draft, errors, path, onChange }: Of<"object">) {
  const drafts = isRecord(draft) ? (draft as Record<string, Draft>) : {};
  const fields = field.fields.map((one) => (
    <FieldView
      key={one.name}
      field={one}
      draft={drafts[one.name]}
      errors={errors}
      path={path ? `${path}/${one.name}` : one.name}
      onChange={(next) => onChange({ ...drafts, [one.name]: next })}
    />
  ));
  if (!path) return <div className={classes.fields}>{fields}</div>;
  return (
    <fieldset className={classes.group}>
      <Legend field={field} />
      {fields}
    </fieldset>
  );
}

function JsonField(props: FieldProps) {
  return (
    <JsonInput
      {...told(props)}
      placeholder="JSON"
      autosize
      minRows={2}
      maxRows={12}
      spellCheck={false}
      classNames={{ input: "ph-mono" }}
      value={String(props.draft ?? "")}
      onChange={props.onChange}
    />
  );
}

/** One field of a form, with what is inside it. */
export function FieldView(props: FieldProps) {
  const { field } = props;
  switch (field.kind) {
    case "text":
      return <TextField {...props} field={field} />;
    case "number":
      return <NumberField {...props} field={field} />;
    case "boolean":
      return <BooleanField {...props} field={field} />;
    case "choice":
      return <ChoiceField {...props} field={field} />;
    case "several":
      return <SeveralField {...props} field={field} />;
    case "list":
      return <ListField {...props} field={field} />;
    case "object":
      return <ObjectField {...props} field={field} />;
    case "json":
      return <JsonField {...props} />;
  }
}
