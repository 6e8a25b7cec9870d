import { Stack, Text } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { promptsApi } from "../api/topics";
import type { PromptView } from "../api/types";
import { Dialog } from "../shell/Dialog";
import { DialogFoot, FormButtons } from "../shell/DialogFoot";
import { stillToSay } from "../shell/messages";
import { currentConversation } from "../store/actions";
import { askedOf } from "./store";
import { given, isFilled, VariableFields } from "./VariableFields";

interface InsertDialogProps {
  prompt: PromptView | null;
  onClose: () => void;
  onText: (text: string) => void;
}

function Form({ prompt, onClose, onText }: InsertDialogProps & { prompt: PromptView }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState("");
  const asked = askedOf(prompt);
  const insert = (event: FormEvent) => {
    event.preventDefault();
    promptsApi
      .fill(prompt.name, given(values), currentConversation())
      .then(({ text }) => {
        onText(text);
        onClose();
      })
      .catch((error: unknown) => setProblem(stillToSay(error)));
  };
  return (
    <form onSubmit={insert}>
      <Stack gap="sm">
        {prompt.description && (
          <Text size="sm" c="dimmed">
            {prompt.description}
          </Text>
        )}
        <VariableFields variables={asked} values={values} onChange={setValues} />
      </Stack>
      <DialogFoot problem={problem}>
        <FormButtons onCancel={onClose} disabled={!isFilled(asked, values)}>
          Put into the box
        </FormButtons>
      </DialogFoot>
    </form>
  );
}

/** Asks for the variables of a prompt that is put into the box. */
export function InsertDialog(props: InsertDialogProps) {
  return (
    <Dialog about={props.prompt} title={({ title }) => title} onClose={props.onClose}>
      {(prompt) => <Form key={prompt.name} {...props} prompt={prompt} />}
    </Dialog>
  );
}
