import { Button, Group, Select, TagsInput, Textarea, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { errorText } from "../api/client";
import { Failure } from "../settings/Warning";
import { Dialog } from "../shell/Dialog";
import { memories, type Memory, type MemoryCollection, type MemoryKept, type Scope } from "./memories";
import classes from "./Memory.module.css";
import { placeKey, placeName } from "./words";

/** What the form is about: a new memory, one to change, or several to be one. */
export type Editing = { kind: "new" } | { kind: "change"; memory: Memory } | { kind: "merge"; memories: readonly Memory[] };

const everywhere: Scope = { kind: "everywhere", id: "" };
const titles: Record<Editing["kind"], string> = { new: "New memory", change: "Edit memory", merge: "Merge memories" };

/** Return what stands in the form at first. */
function begun(editing: Editing): { title: string; text: string; tags: string[]; scope: Scope } {
  if (editing.kind === "new") return { title: "", text: "", tags: [], scope: everywhere };
  if (editing.kind === "change") return { ...editing.memory, tags: [...editing.memory.tags] };
  const [first] = editing.memories;
  const text = [...new Set(editing.memories.map((each) => each.text))].join("\n");
  return { title: first?.title ?? "", text, tags: [], scope: first?.scope ?? everywhere };
}

type Draft = ReturnType<typeof begun>;

function kept(editing: Editing, draft: Draft): Promise<MemoryKept | Memory> {
  const { title, text, tags, scope } = draft;
  if (editing.kind === "new") return memories.add({ title, text, tags, scope });
  if (editing.kind === "change") return memories.change(editing.memory.key, { title, text, tags, scope });
  return memories.merge({ keys: editing.memories.map(({ key }) => key), title, text, scope });
}

interface FormProps {
  editing: Editing;
  collections: readonly MemoryCollection[];
  onDone: (said: string) => void;
  onCancel: () => void;
}

function Form({ editing, collections, onDone, onCancel }: FormProps) {
  const [draft, setDraft] = useState(() => begun(editing));
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const places = new Map([everywhere, draft.scope, ...collections.map(({ scope }) => scope)].map((each) => [placeKey(each), each]));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    kept(editing, draft)
      .then(
        (answer) => onDone("outcome" in answer && answer.outcome !== "kept" ? `“${answer.memory.title}” says that already.` : ""),
        (error: unknown) => setProblem(errorText(error)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <form className={classes.form} onSubmit={submit}>
      <Failure message={problem} />
      <TextInput
        label="Title"
        description="Left empty: the beginning of the text."
        value={draft.title}
        onChange={(event) => setDraft({ ...draft, title: event.currentTarget.value })}
      />
      <Textarea
        label="What to remember"
        autosize
        minRows={3}
        maxRows={12}
        required
        data-autofocus
        value={draft.text}
        onChange={(event) => setDraft({ ...draft, text: event.currentTarget.value })}
      />
      {editing.kind !== "merge" && (
        <TagsInput label="Tags" value={draft.tags} onChange={(tags) => setDraft({ ...draft, tags })} />
      )}
      <Select
        label="Who sees it"
        data={[...places].map(([value, scope]) => ({ value, label: placeName(scope, collections) }))}
        allowDeselect={false}
        value={placeKey(draft.scope)}
        onChange={(value) => setDraft({ ...draft, scope: places.get(value ?? "") ?? everywhere })}
      />
      <Group gap="xs" justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <Button type="submit" loading={isBusy} disabled={!draft.text.trim()}>
          {editing.kind === "merge" ? "Merge" : "Save"}
        </Button>
      </Group>
    </form>
  );
}

interface DialogProps extends Omit<FormProps, "editing" | "onCancel"> {
  editing: Editing | null;
  onClose: () => void;
}

/** A memory as a form. */
export function MemoryDialog({ editing, onClose, ...form }: DialogProps) {
  return (
    <Dialog about={editing} title={(about) => titles[about.kind]} size="lg" onClose={onClose}>
      {(about) => <Form editing={about} onCancel={onClose} {...form} />}
    </Dialog>
  );
}
