import { ActionIcon, Popover, Stack, Switch, TextInput, Tooltip } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import type { ConversationSettings } from "../api/types";
import { changeSettings } from "../store/actions";
import { settingsNow } from "../store/settings";
import { useApp } from "../store/store";
import { ChoosePrompt } from "../prompts/ChoosePrompt";
import { TopicField } from "../topics/TopicChip";
import { BuiltInChoice } from "./BuiltInChoice";
import { SlidersIcon } from "./icons";
import { tell } from "./messages";
import { currentModel } from "./ModelSelector";
import { NativeTools } from "./NativeTools";
import { chooseBuiltIn, chooseNative, unset } from "./selection";
import { MaxTokens, SystemPrompt, Temperature } from "./SettingFields";
import { tokensError } from "./tokens";
import { ToolChoice } from "./ToolChoice";

const textOrDefault = (text: string) => text.trim() || null;

/** Return what differs from what was saved; empty text means the default. */
function changes(saved: ConversationSettings, draft: ConversationSettings): Partial<ConversationSettings> {
  const wanted: ConversationSettings = {
    ...draft,
    systemPrompt: textOrDefault(draft.systemPrompt ?? ""),
    workingDirectory: textOrDefault(draft.workingDirectory ?? ""),
    // A slip stays in the field, with what is wrong with it.
    maxTokens: tokensError(draft.maxTokens) ? saved.maxTokens : draft.maxTokens,
  };
  const keys = Object.keys(wanted) as (keyof ConversationSettings)[];
  return Object.fromEntries(keys.filter((key) => wanted[key] !== saved[key]).map((key) => [key, wanted[key]]));
}

/** The fields, filled once; each is saved when it is left. */
function Fields({ id, settings }: { id: string | null; settings: ConversationSettings }) {
  const model = useApp(currentModel);
  const [draft, setDraft] = useState(settings);
  const latest = useRef(draft);
  const saved = useRef(settings);
  const edit = (change: Partial<ConversationSettings>) => {
    latest.current = { ...latest.current, ...change };
    setDraft(latest.current);
  };
  const save = () => {
    const change = changes(saved.current, latest.current);
    saved.current = { ...saved.current, ...change };
    // Not of the one that is open now: the fields may have been left by going to another.
    if (Object.keys(change).length) void changeSettings(change, id).catch(tell);
  };
  // Closing by Escape takes the focused field away without a blur.
  useEffect(() => save, []);
  return (
    <Stack gap="sm">
      <ChoosePrompt id={id} onChosen={({ prompt, systemPrompt }) => {
          saved.current = { ...saved.current, prompt, systemPrompt };
          edit({ prompt, systemPrompt });
        }}
      />
      <SystemPrompt settings={draft} description="What the model is told before the conversation." onChange={edit} onBlur={save} />
      <TopicField id={id} />
      <Temperature settings={draft} onChange={edit} onBlur={save} />
      <MaxTokens settings={draft} onChange={edit} onBlur={save} />
      <Switch
        label="Thinking"
        description={model?.supportsThinking ? "Let the model think before it answers." : "This model does not think."}
        disabled={!model?.supportsThinking}
        checked={Boolean(model?.supportsThinking && draft.thinking)}
        onChange={(event) => {
          edit({ thinking: event.currentTarget.checked });
          save();
        }}
      />
      <TextInput
        label="Working directory"
        description="Where tools read and write in this conversation."
        placeholder="None"
        value={draft.workingDirectory ?? ""}
        onChange={(event) => edit({ workingDirectory: event.currentTarget.value })}
        onBlur={save}
      />
      <ToolChoice
        selection={draft.selection}
        onChange={(selection) => {
          edit({ selection });
          save();
        }}
      />
      <BuiltInChoice
        value={draft.selection?.builtIn ?? null}
        onChange={(builtIn) => {
          edit({ selection: chooseBuiltIn(latest.current.selection, builtIn) });
          save();
        }}
      />
      <NativeTools
        value={draft.selection?.nativeTools ?? unset}
        note="They run at the model's provider. By default they are as the model has them."
        onChange={(nativeTools) => {
          edit({ selection: chooseNative(latest.current.selection, nativeTools) });
          save();
        }}
      />
    </Stack>
  );
}

/** What this conversation has of its own: prompt, temperature, length, thinking, folder, tools. */
export function ChatSettings() {
  const [opened, setOpened] = useState(false);
  const id = useApp((state) => state.open?.conversation.id ?? null);
  const settings = useApp(settingsNow);
  const isOpening = useApp((state) => state.opening);
  return (
    <Popover opened={opened} onChange={setOpened} width={320} position="bottom-end" trapFocus>
      <Popover.Target>
        <Tooltip label="Chat settings" disabled={opened}>
          <ActionIcon size="lg" aria-label="Chat settings" disabled={isOpening} onClick={() => setOpened(!opened)}>
            <SlidersIcon />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown aria-label="Chat settings" mah="calc(100dvh - 60px)" style={{ overflowY: "auto" }}>
        <Fields key={id} id={id} settings={settings} />
      </Popover.Dropdown>
    </Popover>
  );
}
