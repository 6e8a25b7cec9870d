import { PasswordInput, Radio, TextInput } from "@mantine/core";
import type { KeyChoice, ModelDraft } from "./modelDraft";
import type { FieldsProps } from "./ModelFields";
import { usualVariable } from "./providers";
import classes from "./Settings.module.css";

/** Choose a source; the variable begins with its usual name. */
function withKey(draft: ModelDraft, key: KeyChoice): ModelDraft {
  const variable = draft.variable || (key === "env" ? usualVariable(draft.provider, draft.baseUrl) : "");
  return { ...draft, key, variable };
}

/** Where the key comes from: kept, pasted, from the environment, or not needed. */
export function KeyFields({ draft, errors, current, onChange }: FieldsProps) {
  const kept = { secret: "Keep the stored key", literal: "Keep the key in models.json", env: "", none: "" };
  const keep = current ? kept[current.key.kind] : "";
  return (
    <div className={classes.keyFields}>
      <Radio.Group label="API key" value={draft.key} onChange={(value) => onChange(withKey(draft, value as KeyChoice))}>
        <div className={classes.choices}>
          {keep && <Radio value="keep" label={keep} />}
          <Radio value="paste" label={keep ? "Paste another key" : "Paste a key"} />
          <Radio value="env" label="From environment variable" />
          <Radio value="none" label="No key" />
        </div>
      </Radio.Group>
      {draft.key === "paste" && (
        <PasswordInput
          aria-label="Key"
          description="Kept as a secret, and sent only to the address above."
          inputWrapperOrder={["input", "description", "error"]}
          autoComplete="new-password"
          spellCheck={false}
          value={draft.apiKey}
          error={errors.apiKey}
          visibilityToggleButtonProps={{ "aria-label": "Show the key", tabIndex: 0 }}
          onChange={(event) => onChange({ ...draft, apiKey: event.currentTarget.value })}
        />
      )}
      {draft.key === "env" && (
        <TextInput
          aria-label="Environment variable"
          description="Read by the server whenever it asks the model; the key itself is not kept."
          inputWrapperOrder={["input", "description", "error"]}
          placeholder={usualVariable(draft.provider, draft.baseUrl) || "MY_API_KEY"}
          spellCheck={false}
          value={draft.variable}
          error={errors.variable}
          onChange={(event) => onChange({ ...draft, variable: event.currentTarget.value })}
        />
      )}
    </div>
  );
}
