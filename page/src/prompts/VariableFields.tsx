import { Textarea } from "@mantine/core";
import type { PromptVariable } from "../api/types";

interface VariableFieldsProps {
  variables: readonly PromptVariable[];
  values: Record<string, string>;
  onChange: (values: Record<string, string>) => void;
}

const words = (name: string) => name.replaceAll(/[-_]/g, " ");

/** A field for each variable of a prompt; empty for what it is by default. */
export function VariableFields({ variables, values, onChange }: VariableFieldsProps) {
  return variables.map(({ name, default: usual }, at) => (
    <Textarea
      key={name}
      autosize
      minRows={1}
      maxRows={6}
      data-autofocus={at === 0 || undefined}
      label={words(name)}
      placeholder={usual ?? ""}
      required={usual === null}
      maxLength={20_000}
      value={values[name] ?? ""}
      onChange={(event) => onChange({ ...values, [name]: event.currentTarget.value })}
    />
  ));
}

/** Return whether everything is given that has no default. */
export const isFilled = (variables: readonly PromptVariable[], values: Record<string, string>) =>
  variables.every(({ name, default: usual }) => usual !== null || Boolean(values[name]?.trim()));

/** Return what was given, without what was left empty. */
export const given = (values: Record<string, string>) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim()));
