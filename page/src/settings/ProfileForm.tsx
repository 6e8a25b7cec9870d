import { Select, TextInput } from "@mantine/core";
import { useRef, useState, type FormEvent } from "react";
import { errorText } from "../api/client";
import type { ConfigView, ConversationSettings, Profile } from "../api/types";
import { Dialog } from "../shell/Dialog";
import { DialogFoot, FormButtons } from "../shell/DialogFoot";
import { MaxTokens, SystemPrompt, Temperature } from "../shell/SettingFields";
import { tokensError } from "../shell/tokens";
import { getState, useApp } from "../store/store";
import { changeConfig } from "./actions";
import { withProfile } from "./profiles";
import classes from "./Settings.module.css";

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
      <SystemPrompt settings={settings} onChange={onChange} />
      <div className={classes.pair}>
        <Temperature settings={settings} onChange={onChange} />
        <MaxTokens settings={settings} onChange={onChange} />
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
    if (tokensError(draft.settings.maxTokens)) return;
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
        <FormButtons onCancel={onClose}>{profile.id ? "Save" : "Add"}</FormButtons>
      </DialogFoot>
    </form>
  );
}

/** The form that adds a profile or edits one; null closes it. */
export function ProfileForm({ profile, ...props }: Omit<FormProps, "profile"> & { profile: Profile | null }) {
  return (
    <Dialog
      about={profile}
      title={({ id, name }) => (id ? `Edit ${name}` : "Add a profile")}
      onClose={props.onClose}
      closeOnClickOutside={false}
    >
      {(shown) => <Form profile={shown} {...props} />}
    </Dialog>
  );
}
