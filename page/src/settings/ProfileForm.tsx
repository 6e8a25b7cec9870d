import { Button, Modal, NumberInput, Select, Textarea, TextInput } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useRef, useState, type FormEvent } from "react";
import { errorText } from "../api/client";
import type { ConfigView, ConversationSettings, Profile } from "../api/types";
import { DialogFoot } from "../shell/DialogFoot";
import { getState, useApp } from "../store/store";
import { changeConfig } from "./actions";
import { withProfile } from "./profiles";
import classes from "./Settings.module.css";

const numberOrDefault = (value: string | number) => (value === "" ? null : Number(value));
const thinkingOf = { default: null, on: true, off: false } as const;

function thinkingName(thinking: boolean | null): keyof typeof thinkingOf {
  if (thinking === null) return "default";
  return thinking ? "on" : "off";
}

interface FieldsProps {
  settings: ConversationSettings;
  onChange: (change: Partial<ConversationSettings>) => void;
}

function SettingsFields({ settings, onChange }: FieldsProps) {
  const models = useApp((state) => state.models.models);
  const model = models.find((each) => each.id === settings.modelId);
  const choices = models.map((each) => ({ value: each.id, label: each.name }));
  if (settings.modelId && !model) choices.push({ value: settings.modelId, label: `${settings.modelId} (gone)` });
  return (
    <>
      <Select
        label="Model"
        data={[{ value: "", label: "The default model" }, ...choices]}
        value={settings.modelId ?? ""}
        allowDeselect={false}
        onChange={(value) => onChange({ modelId: value || null })}
      />
      <Textarea
        label="System prompt"
        autosize
        minRows={2}
        maxRows={8}
        value={settings.systemPrompt ?? ""}
        onChange={(event) => onChange({ systemPrompt: event.currentTarget.value })}
      />
      <div className={classes.pair}>
        <NumberInput
          label="Temperature"
          placeholder="The model's default"
          min={0}
          max={2}
          step={0.1}
          decimalScale={2}
          value={settings.temperature ?? ""}
          onChange={(value) => onChange({ temperature: numberOrDefault(value) })}
        />
        <NumberInput
          label="Max tokens"
          placeholder="The model's default"
          min={1}
          step={256}
          allowDecimal={false}
          thousandSeparator=","
          value={settings.maxTokens ?? ""}
          onChange={(value) => onChange({ maxTokens: numberOrDefault(value) })}
        />
      </div>
      <Select
        label="Thinking"
        description={model && !model.supportsThinking ? `${model.name} does not think.` : undefined}
        data={[
          { value: "default", label: "The model's default" },
          { value: "on", label: "On" },
          { value: "off", label: "Off" },
        ]}
        value={thinkingName(settings.thinking)}
        allowDeselect={false}
        onChange={(value) => onChange({ thinking: thinkingOf[(value ?? "default") as keyof typeof thinkingOf] })}
      />
    </>
  );
}

interface FormProps {
  profile: Profile;
  config: ConfigView;
  onClose: () => void;
  onSaved: (id: string) => void;
}

function Form({ profile, config, onClose, onSaved }: FormProps) {
  const [draft, setDraft] = useState(profile);
  const [error, setError] = useState("");
  const [problem, setProblem] = useState("");
  const nameField = useRef<HTMLInputElement>(null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const name = draft.name.trim();
    if (!name) {
      setError("Give the profile a name.");
      return nameField.current?.focus();
    }
    const systemPrompt = draft.settings.systemPrompt?.trim() || null;
    const wanted = { ...draft, name, settings: { ...draft.settings, systemPrompt } };
    changeConfig(withProfile(config, wanted)).then(
      () => {
        onSaved(profile.id || (getState().config?.profiles.at(-1)?.id ?? ""));
        onClose();
      },
      (failed: unknown) => setProblem(errorText(failed)),
    );
  };
  return (
    <form onSubmit={submit} noValidate>
      <div className={classes.fields}>
        <TextInput
          ref={nameField}
          label="Name"
          required
          data-autofocus
          maxLength={80}
          value={draft.name}
          error={error}
          onChange={(event) => {
            setDraft({ ...draft, name: event.currentTarget.value });
            setError("");
          }}
        />
        <SettingsFields
          settings={draft.settings}
          onChange={(change) => setDraft((now) => ({ ...now, settings: { ...now.settings, ...change } }))}
        />
      </div>
      <DialogFoot problem={problem}>
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit">{profile.id ? "Save" : "Add"}</Button>
      </DialogFoot>
    </form>
  );
}

/** The form that adds a profile or edits one; null closes it. */
export function ProfileForm({ profile, ...props }: Omit<FormProps, "profile"> & { profile: Profile | null }) {
  const isNarrow = useMediaQuery("(max-width: 600px)", false, { getInitialValueInEffect: false });
  const shown = useRef(profile);
  if (profile) shown.current = profile;
  return (
    <Modal
      opened={profile !== null}
      onClose={props.onClose}
      title={shown.current?.id ? `Edit ${shown.current.name}` : "Add a profile"}
      fullScreen={isNarrow}
      closeOnClickOutside={false}
    >
      {shown.current && <Form profile={shown.current} {...props} />}
    </Modal>
  );
}
