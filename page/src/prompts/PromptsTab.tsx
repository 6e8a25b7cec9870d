import { ActionIcon, Button } from "@mantine/core";
import { useState } from "react";
import { miniPromptsApi, promptsApi } from "../api/topics";
import type { PromptView } from "../api/types";
import { Confirm } from "../settings/Confirm";
import { PencilIcon, PlusIcon, TrashIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { PromptEditor, type Editing } from "./PromptEditor";
import classes from "./Prompts.module.css";
import { refreshPrompts, usePrompts, type Kind } from "./store";

const calls = { prompts: promptsApi, miniPrompts: miniPromptsApi };

const words: Record<Kind, { title: string; lead: string; add: string }> = {
  prompts: {
    title: "Prompts",
    lead: "Chosen in the settings of a conversation, one stands in for the system prompt. Typed with a slash, it is put into the box.",
    add: "New prompt",
  },
  miniPrompts: {
    title: "Mini prompts",
    lead: "Switched on under the box, they are said to the model with every message and take priority.",
    add: "New mini prompt",
  },
};

interface RowProps {
  kind: Kind;
  prompt: PromptView;
  onEdit: (editing: Editing) => void;
}

function Row({ kind, prompt, onEdit }: RowProps) {
  const edit = () => calls[kind].get(prompt.name).then((details) => onEdit({ kind, prompt: details }), tell);
  const remove = () => calls[kind].remove(prompt.name).then(() => refreshPrompts(kind));
  return (
    <li className={classes.card}>
      <div className={classes.cardText}>
        <div className={classes.cardName}>
          {prompt.title}
          <code>{kind === "prompts" ? `/${prompt.name}` : prompt.name}</code>
        </div>
        <p className={classes.note}>
          {prompt.description}
          {prompt.builtIn && " Comes with Pilothouse."}
        </p>
      </div>
      <ActionIcon size="lg" aria-label={`Edit ${prompt.title}`} onClick={() => void edit()}>
        <PencilIcon size={16} />
      </ActionIcon>
      {!prompt.builtIn && (
        <Confirm question={`Delete the file of “${prompt.title}”?`} action="Delete" onConfirm={remove}>
          {(ask) => (
            <ActionIcon size="lg" aria-label={`Delete ${prompt.title}`} onClick={ask}>
              <TrashIcon size={16} />
            </ActionIcon>
          )}
        </Confirm>
      )}
    </li>
  );
}

function Section({ kind, onEdit }: { kind: Kind; onEdit: (editing: Editing) => void }) {
  const { prompts, folder, problems } = usePrompts(kind);
  const { title, lead, add } = words[kind];
  return (
    <section aria-label={title}>
      <div className={classes.head}>
        <h2 className="ph-section-title">{title}</h2>
        <Button size="compact-sm" variant="default" leftSection={<PlusIcon size={15} />} onClick={() => onEdit({ kind, prompt: null })}>
          {add}
        </Button>
      </div>
      <p className={classes.note}>{lead}</p>
      {problems.map((problem) => (
        <p key={problem} className="ph-bad" role="alert">
          {problem}
        </p>
      ))}
      <ul className={classes.cards} aria-label={title}>
        {prompts.map((prompt) => (
          <Row key={prompt.name} kind={kind} prompt={prompt} onEdit={onEdit} />
        ))}
      </ul>
      {folder && (
        <p className={classes.note}>
          Files in <code>{folder}</code>, which you may edit there.
        </p>
      )}
    </section>
  );
}

/** The person's prompts and mini prompts: each is a file. */
export default function PromptsTab() {
  const [editing, setEditing] = useState<Editing | null>(null);
  return (
    <>
      <Section kind="prompts" onEdit={setEditing} />
      <Section kind="miniPrompts" onEdit={setEditing} />
      <PromptEditor editing={editing} onClose={() => setEditing(null)} />
    </>
  );
}
