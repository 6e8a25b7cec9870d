import { Button, Stack, Textarea, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { miniPromptsApi, promptsApi } from "../api/topics";
import type { PromptDetails } from "../api/types";
import { Dialog } from "../shell/Dialog";
import { DialogFoot, FormButtons } from "../shell/DialogFoot";
import { stillToSay } from "../shell/messages";
import { currentConversation } from "../store/actions";
import classes from "./Prompts.module.css";
import { askedOf, refreshPrompts, type Kind } from "./store";
import { given, VariableFields } from "./VariableFields";

export interface Editing {
  kind: Kind;
  /** What it was; null for a new one. */
  prompt: PromptDetails | null;
}

const words: Record<Kind, string> = { prompts: "prompt", miniPrompts: "mini prompt" };
const calls = { prompts: promptsApi, miniPrompts: miniPromptsApi };

/** Return a file name for a title. */
export const nameFor = (title: string) =>
  title
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 60);

/** What is kept of it, with its variables filled in. */
function Preview({ prompt }: { prompt: PromptDetails }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const [text, setText] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  const show = () =>
    promptsApi.fill(prompt.name, given(values), currentConversation()).then(
      (filled) => {
        setProblem("");
        setText(filled.text);
      },
      (error: unknown) => setProblem(stillToSay(error)),
    );
  return (
    <Stack gap="xs">
      <VariableFields variables={askedOf(prompt)} values={values} onChange={setValues} />
      <div className="ph-actions">
        <Button size="compact-sm" variant="default" onClick={() => void show()}>
          Preview what is saved
        </Button>
      </div>
      {problem && <p className="ph-bad">{problem}</p>}
      {text !== null && (
        <pre className={classes.preview} aria-label="Preview" tabIndex={0}>
          {text}
        </pre>
      )}
    </Stack>
  );
}

function Form({ editing: { kind, prompt }, onClose }: { editing: Editing; onClose: () => void }) {
  const [title, setTitle] = useState(prompt?.title ?? "");
  const [name, setName] = useState(prompt?.name ?? "");
  const [description, setDescription] = useState(prompt?.description ?? "");
  const [text, setText] = useState(prompt?.text ?? "");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const wanted = name || nameFor(title);
  const save = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    calls[kind]
      .put(wanted, { title, description, text })
      .then(() => refreshPrompts(kind))
      .then(onClose)
      .catch((error: unknown) => setProblem(stillToSay(error)))
      .finally(() => setBusy(false));
  };
  const how =
    kind === "prompts"
      ? "{{name}} is asked for, {{name=this}} has a default; {{date}}, {{folder}}, {{model}} and {{topic}} fill themselves in."
      : "Said to the model with every message while it is on.";
  return (
    <form onSubmit={save}>
      <Stack gap="sm">
        <TextInput data-autofocus label="Title" maxLength={120} value={title} onChange={(event) => setTitle(event.currentTarget.value)} />
        {!prompt && (
          <TextInput
            label="Name"
            description={kind === "prompts" ? "Typed after a slash in the box, and the name of its file." : "The name of its file."}
            placeholder={nameFor(title)}
            maxLength={60}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
        )}
        <TextInput label="Description" maxLength={500} value={description} onChange={(event) => setDescription(event.currentTarget.value)} />
        <Textarea
          label="Text"
          description={how}
          required
          autosize
          minRows={5}
          maxRows={16}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        {kind === "prompts" && prompt && <Preview prompt={prompt} />}
      </Stack>
      <DialogFoot problem={problem}>
        <FormButtons onCancel={onClose} isBusy={isBusy} disabled={!text.trim() || !wanted}>
          Save
        </FormButtons>
      </DialogFoot>
    </form>
  );
}

/** Writes a prompt's file. */
export function PromptEditor({ editing, onClose }: { editing: Editing | null; onClose: () => void }) {
  return (
    <Dialog
      about={editing}
      size="lg"
      title={({ kind, prompt }) => (prompt ? `Edit the ${words[kind]} “${prompt.title}”` : `New ${words[kind]}`)}
      onClose={onClose}
    >
      {(about) => <Form key={`${about.kind} ${about.prompt?.name ?? ""}`} editing={about} onClose={onClose} />}
    </Dialog>
  );
}
