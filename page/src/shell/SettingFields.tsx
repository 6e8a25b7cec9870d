import { NumberInput, Textarea, type NumberInputProps, type TextareaProps } from "@mantine/core";
import type { ConversationSettings } from "../api/types";
import { tokensError } from "./tokens";

interface FieldProps {
  settings: ConversationSettings;
  onChange: (change: Partial<ConversationSettings>) => void;
  onBlur?: () => void;
}

const numberOrDefault = (value: string | number) => (value === "" || !Number.isFinite(Number(value)) ? null : Number(value));

/** What the model is told before the conversation. */
export function SystemPrompt({ settings, onChange, ...props }: FieldProps & Pick<TextareaProps, "description">) {
  return (
    <Textarea
      label="System prompt"
      autosize
      minRows={2}
      maxRows={8}
      value={settings.systemPrompt ?? ""}
      onChange={(event) => onChange({ systemPrompt: event.currentTarget.value })}
      {...props}
    />
  );
}

/** How far the model strays from what is most likely; empty for its default. */
export function Temperature({ settings, onChange, ...props }: FieldProps) {
  return (
    <NumberInput
      label="Temperature"
      placeholder="The model's default"
      min={0}
      max={2}
      step={0.1}
      decimalScale={2}
      value={settings.temperature ?? ""}
      onChange={(value) => onChange({ temperature: numberOrDefault(value) })}
      {...props}
    />
  );
}

/** A number of tokens. */
export function Tokens(props: NumberInputProps) {
  return <NumberInput min={1} step={256} allowDecimal={false} thousandSeparator="," {...props} />;
}

/** How long an answer may get; empty for the model's default. */
export function MaxTokens({ settings, onChange, ...props }: FieldProps) {
  return (
    <Tokens
      label="Max tokens"
      placeholder="The model's default"
      value={settings.maxTokens ?? ""}
      error={tokensError(settings.maxTokens)}
      onChange={(value) => onChange({ maxTokens: numberOrDefault(value) })}
      {...props}
    />
  );
}
