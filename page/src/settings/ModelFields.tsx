import { Autocomplete, Checkbox, Select, TextInput } from "@mantine/core";
import type { ModelView } from "../api/types";
import { Tokens } from "../shell/SettingFields";
import { KeyFields } from "./KeyFields";
import { NAME_LENGTH, withProvider, type DraftErrors, type ModelDraft } from "./modelDraft";
import { MoreFields } from "./MoreFields";
import { isInside, menu, providerOf } from "./providers";
import classes from "./Settings.module.css";
import { knownLine, useAbout } from "./useAbout";

/** What every part of the form is given. */
export interface FieldsProps {
  draft: ModelDraft;
  errors: DraftErrors;
  /** The model as it is saved; null for a new one. */
  current: ModelView | null;
  onChange: (draft: ModelDraft) => void;
}

export const numberOrNothing = (value: string | number): number | "" => (value === "" ? "" : Number(value));

function Identity({ draft, errors, current, names, onChange }: FieldsProps & { names: readonly string[] }) {
  const row = providerOf(draft.provider);
  return (
    <>
      <TextInput
        label="Name"
        placeholder={draft.model.trim() || "As you want to see it in the list"}
        required={!draft.model.trim()}
        data-autofocus={!current || undefined}
        maxLength={NAME_LENGTH}
        value={draft.name}
        error={errors.name}
        onChange={(event) => onChange({ ...draft, name: event.currentTarget.value })}
      />
      <Select
        label="Provider"
        description={row.note}
        inputWrapperOrder={["label", "input", "description", "error"]}
        data={menu()}
        searchable
        nothingFoundMessage="None of that name. Choose “Another” and write its address."
        maxDropdownHeight={320}
        value={draft.provider}
        allowDeselect={false}
        onChange={(value) => value && onChange(withProvider(draft, value))}
      />
      {!isInside(draft.provider) && (
        <TextInput
          label="Base URL"
          placeholder={row.baseUrl || "https://"}
          inputMode="url"
          spellCheck={false}
          value={draft.baseUrl}
          error={errors.baseUrl}
          onChange={(event) => onChange({ ...draft, baseUrl: event.currentTarget.value })}
        />
      )}
      {draft.provider !== "embedded" && (
        <Autocomplete
          label={draft.provider === "scripted" ? "Script file" : "Model"}
          description={names.length ? `${names.length} known at this address` : undefined}
          placeholder={row.model}
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
  const about = useAbout(draft);
  const known = knownLine(about);
  const seen = about && (about.supportsImages ? "As known: yes" : "As known: no");
  return (
    <>
      <div className={classes.pair}>
        <Tokens
          label="Context window"
          description="Tokens"
          placeholder={about?.contextWindow.toLocaleString("en") ?? "As known of this model"}
          step={1000}
          value={draft.contextWindow}
          error={errors.contextWindow}
          onChange={(value) => onChange({ ...draft, contextWindow: numberOrNothing(value) })}
        />
        <Tokens
          label="Max tokens of an answer"
          description="Tokens"
          placeholder="The provider's own limit"
          value={draft.maxTokens}
          error={errors.maxTokens}
          onChange={(value) => onChange({ ...draft, maxTokens: numberOrNothing(value) })}
        />
      </div>
      <div className={classes.pair}>
        <Select
          label="Takes images"
          data={[
            { value: "auto", label: seen ?? "As known of this model" },
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
          checked={draft.supportsThinking ?? about?.supportsThinking ?? false}
          onChange={(event) => onChange({ ...draft, supportsThinking: event.currentTarget.checked })}
        />
      </div>
      <p className={classes.known} aria-live="polite">
        {known && `Known: ${known}. What you say here counts instead.`}
      </p>
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
