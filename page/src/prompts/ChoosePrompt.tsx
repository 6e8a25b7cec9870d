import { Button, Group, Select, Stack, Text } from "@mantine/core";
import { useRef, useState } from "react";
import type { ConversationSettings } from "../api/types";
import { changeSettings } from "../store/actions";
import { stillToSay } from "../shell/messages";
import { settingsNow } from "../store/settings";
import { getState, useApp } from "../store/store";
import { Failure } from "../settings/Warning";
import { askedOf, usePrompts } from "./store";
import { given, isFilled, VariableFields } from "./VariableFields";

/** Which of the person's prompts stands in for the system prompt; its text is taken as it is when it is chosen. */
export function ChoosePrompt({ id, onChosen }: { id: string | null; onChosen: (settings: ConversationSettings) => void }) {
  const { prompts } = usePrompts("prompts");
  const settings = useApp(settingsNow);
  const [wanted, setWanted] = useState<string | null>(null);
  const [values, setValues] = useState<Record<string, string>>(settings.promptValues);
  const [problem, setProblem] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const asking = prompts.find(({ name }) => name === wanted);
  const asked = asking ? askedOf(asking) : [];
  const use = (prompt: string | null, promptValues: Record<string, string>) => {
    setProblem("");
    // No words of its own: the server makes them of the prompt as it is now.
    changeSettings({ prompt, promptValues, systemPrompt: null }, id)
      .then(() => {
        setWanted(null);
        // What was pressed is gone.
        field.current?.focus();
        onChosen(settingsNow(getState()));
      })
      .catch((error: unknown) => setProblem(stillToSay(error)));
  };
  const choose = (name: string | null) => {
    const found = prompts.find((each) => each.name === name);
    if (!found) return use(null, {});
    setValues(name === settings.prompt ? settings.promptValues : {});
    if (askedOf(found).length) setWanted(name);
    else use(name, {});
  };
  const options = prompts.map(({ name, title }) => ({ value: name, label: title }));
  const lost = settings.prompt && !prompts.some(({ name }) => name === settings.prompt) ? [{ value: settings.prompt, label: settings.prompt }] : [];
  return (
    <Stack gap="xs">
      <Select
        ref={field}
        label="Prompt"
        description="One of yours, in place of the usual system prompt."
        placeholder="None"
        clearable
        comboboxProps={{ withinPortal: false }}
        data={[...lost, ...options]}
        value={wanted ?? settings.prompt}
        onChange={choose}
      />
      {asking && (
        <>
          <VariableFields variables={asked} values={values} onChange={setValues} />
          <Group gap="xs" justify="flex-end">
            <Button size="compact-sm" variant="default" onClick={() => setWanted(null)}>
              Cancel
            </Button>
            <Button size="compact-sm" disabled={!isFilled(asked, values)} onClick={() => use(asking.name, given(values))}>
              Use it
            </Button>
          </Group>
        </>
      )}
      {!asking && settings.prompt && (
        <Group gap="xs" justify="space-between">
          <Text size="xs" c="dimmed">
            Taken as it was when you chose it.
          </Text>
          <Button size="compact-xs" variant="subtle" color="gray" onClick={() => choose(settings.prompt)}>
            Take it anew
          </Button>
        </Group>
      )}
      <Failure message={problem} />
    </Stack>
  );
}
