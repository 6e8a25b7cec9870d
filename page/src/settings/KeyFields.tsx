import { Anchor, PasswordInput, Radio, TextInput } from "@mantine/core";
import type { ModelView } from "../api/types";
import type { KeyChoice, ModelDraft } from "./modelDraft";
import type { FieldsProps } from "./ModelFields";
import { providerOf, usualVariable } from "./providers";
import classes from "./Settings.module.css";

/** Choose a source; the variable begins with its usual name. */
function withKey(draft: ModelDraft, key: KeyChoice): ModelDraft {
  const variable = draft.variable || (key === "env" ? usualVariable(draft.provider, draft.baseUrl) : "");
  return { ...draft, key, variable };
}

const signWords = {
  aws: "AWS credentials of the server's machine",
  google: "Google credentials of the server's machine",
  copilot: "The sign-in to Copilot on the server's machine",
};

/** Return what keeping the key means for a model; empty where there is nothing to keep. */
function keptWords(model: ModelView): string {
  const { kind, name } = model.key;
  if (kind === "secret") return "Keep the stored key";
  if (kind === "literal") return "Keep the key in models.json";
  return (kind === "aws" || kind === "google" || kind === "copilot") && name ? `Keep ${name}` : "";
}

function PasteHint({ keysAt }: { keysAt: string }) {
  return (
    <>
      Kept as a secret, and sent only to the address above.
      {keysAt && (
        <>
          {" "}
          Get one at{" "}
          <Anchor inherit underline="always" href={keysAt} target="_blank" rel="noreferrer">
            {new URL(keysAt).host}
          </Anchor>
          .
        </>
      )}
    </>
  );
}

/** Where the key comes from: kept, pasted, from the environment, or not needed. */
export function KeyFields({ draft, errors, current, onChange }: FieldsProps) {
  const { keysAt, signs } = providerOf(draft.provider);
  const keep = current ? keptWords(current) : "";
  return (
    <div className={classes.keyFields}>
      <Radio.Group label="API key" value={draft.key} onChange={(value) => onChange(withKey(draft, value as KeyChoice))}>
        <div className={classes.choices}>
          {keep && <Radio value="keep" label={keep} />}
          <Radio value="paste" label={keep ? "Paste another key" : "Paste a key"} />
          <Radio value="env" label="From environment variable" />
          {signs && <Radio value="sign" label={signWords[signs]} />}
          <Radio value="none" label="No key" />
        </div>
      </Radio.Group>
      {draft.key === "paste" && (
        <PasswordInput
          aria-label="Key"
          description={<PasteHint keysAt={keysAt} />}
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
