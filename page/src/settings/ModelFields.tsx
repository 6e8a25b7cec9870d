import { Autocomplete, Checkbox, NumberInput, Select, TextInput } from "@mantine/core";
import type { ModelView, Provider } from "../api/types";
import { KeyFields } from "./KeyFields";
import { withProvider, type DraftErrors, type ModelDraft } from "./modelDraft";
import { MoreFields } from "./MoreFields";
import { isInside, kindOf, kinds } from "./providers";
import classes from "./Settings.module.css";

/** What every part of the form is given. */
export interface FieldsProps {
  draft: ModelDraft;
  errors: DraftErrors;
  /** The model as it is saved; null for a new one. */
  current: ModelView | null;
  onChange: (draft: ModelDraft) => void;
}

export const numberOrNothing = (value: string | number): number | "" => (value === "" ? "" : Number(value));

const providers = kinds.map(({ value, label }) => ({ value, label }));

function Identity({ draft, errors, current, names, onChange }: FieldsProps & { names: readonly string[] }) {
  const kind = kindOf(draft.provider);
  return (
    <>
      <TextInput
        label="Name"
        placeholder="As you want to see it in the list"
        required
        data-autofocus={!current || undefined}
        maxLength={80}
        value={draft.name}
        error={errors.name}
        onChange={(event) => onChange({ ...draft, name: event.currentTarget.value })}
      />
      <Select
        label="Provider"
        data={providers}
        value={draft.provider}
        allowDeselect={false}
        onChange={(value) => value && onChange(withProvider(draft, value as Provider))}
      />
      {!isInside(draft.provider) && (
        <Autocomplete
          label="Base URL"
          placeholder={kind.places[0]?.url ?? ""}
          data={kind.places.map((place) => place.url)}
          // All of them, whatever stands in the field: it is filled from the start.
          filter={({ options }) => options}
          inputMode="url"
          spellCheck={false}
          value={draft.baseUrl}
          error={errors.baseUrl}
          onChange={(baseUrl) => onChange({ ...draft, baseUrl })}
        />
      )}
      {draft.provider !== "embedded" && (
        <Autocomplete
          label={draft.provider === "scripted" ? "Script file" : "Model"}
          description={names.length ? `${names.length} known at this address` : undefined}
          placeholder={kind.example}
          required
          data={[...names]}
          limit={50}
          spellCheck={false}
          value={draft.model}
          error={errors.model}
          onChange={(model) => onChange({ ...draft, model })}
        />
      )}
    </>
  );
}

function Abilities({ draft, errors, onChange }: FieldsProps) {
  return (
    <>
      <div className={classes.pair}>
        <NumberInput
          label="Context window"
          description="Tokens"
          placeholder="As usual for this model"
          min={1}
          step={1000}
          allowDecimal={false}
          thousandSeparator=","
          value={draft.contextWindow}
          error={errors.contextWindow}
          onChange={(value) => onChange({ ...draft, contextWindow: numberOrNothing(value) })}
        />
        <NumberInput
          label="Max tokens of an answer"
          description="Tokens"
          placeholder="The provider's own limit"
          min={1}
          step={256}
          allowDecimal={false}
          thousandSeparator=","
          value={draft.maxTokens}
          error={errors.maxTokens}
          onChange={(value) => onChange({ ...draft, maxTokens: numberOrNothing(value) })}
        />
      </div>
      <div className={classes.pair}>
        <Select
          label="Takes images"
          data={[
            { value: "auto", label: "As its name suggests" },
            { value: "yes", label: "Yes" },
            { value: "no", label: "No" },
          ]}
          value={draft.supportsImages}
          allowDeselect={false}
          onChange={(value) => onChange({ ...draft, supportsImages: (value ?? "auto") as ModelDraft["supportsImages"] })}
        />
        <Checkbox
          className={classes.check}
          label="Supports thinking"
          checked={draft.supportsThinking}
          onChange={(event) => onChange({ ...draft, supportsThinking: event.currentTarget.checked })}
        />
      </div>
    </>
  );
}

/** All fields of a model. */
export function ModelFields({ names, ...props }: FieldsProps & { names: readonly string[] }) {
  return (
    <div className={classes.fields}>
      <Identity {...props} names={names} />
      {!isInside(props.draft.provider) && <KeyFields {...props} />}
      <Abilities {...props} />
      {!isInside(props.draft.provider) && <MoreFields {...props} />}
    </div>
  );
}
