import { Button } from "@mantine/core";
import { useRef, useState, type FormEvent } from "react";
import { api, errorText } from "../api/client";
import type { Catalogue, FoundModel, ModelTest, ModelView } from "../api/types";
import { focusError } from "../forms/focusError";
import { Dialog } from "../shell/Dialog";
import { DialogFoot, FormButtons } from "../shell/DialogFoot";
import { addModel, changeModels } from "./actions";
import { check, draftOf, newDraft, suggestions, toInput, type DraftErrors, type ModelDraft } from "./modelDraft";
import { ModelFields } from "./ModelFields";
import { ASKING, TestResult } from "./TestResult";

interface FormProps {
  model: ModelView | "new";
  catalogue: Catalogue | null;
  found: readonly FoundModel[];
  onClose: () => void;
}

/** What the form is doing, and what came of it. */
interface Progress {
  doing: "nothing" | "saving" | "testing";
  result: ModelTest | null;
  problem: string;
}

const idle: Progress = { doing: "nothing", result: null, problem: "" };

function save(draft: ModelDraft): Promise<ModelView> {
  const input = toInput(draft);
  return draft.id ? changeModels(api.editModel(draft.id, input)) : addModel(input);
}

function useModelForm({ model, onClose }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [draft, setDraft] = useState<ModelDraft>(() => (model === "new" ? newDraft() : draftOf(model)));
  const [errors, setErrors] = useState<DraftErrors>({});
  const [progress, setProgress] = useState(idle);
  const change = (next: ModelDraft) => {
    setDraft(next);
    // Sentences go as soon as they are no longer true; new ones wait for the next try.
    const now = check(next);
    setErrors((before) => Object.fromEntries(Object.entries(before).filter(([field]) => field in now)));
    setProgress((before) => (before.doing === "nothing" ? idle : before));
  };
  const isGood = (): boolean => {
    const found = check(draft);
    setErrors(found);
    if (Object.keys(found).length) focusError(form.current);
    return Object.keys(found).length === 0;
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (progress.doing !== "nothing" || !isGood()) return;
    setProgress({ ...idle, doing: "saving" });
    save(draft).then(onClose, (error: unknown) => setProgress({ ...idle, problem: errorText(error) }));
  };
  const test = () => {
    if (!isGood()) return;
    setProgress({ ...idle, doing: "testing" });
    api.testDraft(toInput(draft)).then(
      (result) => setProgress({ ...idle, result }),
      (error: unknown) => setProgress({ ...idle, problem: errorText(error) }),
    );
  };
  return { form, draft, errors, progress, change, submit, test };
}

function Form(props: FormProps) {
  const { model, catalogue, found, onClose } = props;
  const { form, draft, errors, progress, change, submit, test } = useModelForm(props);
  return (
    <form ref={form} onSubmit={submit} noValidate autoComplete="off">
      <ModelFields
        draft={draft}
        errors={errors}
        current={model === "new" ? null : model}
        names={suggestions(draft, catalogue, found)}
        onChange={change}
      />
      <DialogFoot
        problem={progress.problem}
        said={<TestResult doing={progress.doing === "testing" ? ASKING : ""} result={progress.result} />}
      >
        <Button variant="default" loading={progress.doing === "testing"} onClick={test}>
          Test
        </Button>
        <span className="ph-space" />
        <FormButtons onCancel={onClose} isBusy={progress.doing === "saving"}>
          {draft.id ? "Save" : "Add"}
        </FormButtons>
      </DialogFoot>
    </form>
  );
}

/** The form that adds a model or edits one; `model` says which, null closes it. */
export function ModelForm({ model, ...props }: Omit<FormProps, "model"> & { model: FormProps["model"] | null }) {
  return (
    <Dialog
      about={model}
      title={(shown) => (shown === "new" ? "Add a model" : `Edit ${shown.name}`)}
      size="lg"
      onClose={props.onClose}
      closeOnClickOutside={false}
    >
      {(shown) => <Form model={shown} {...props} />}
    </Dialog>
  );
}
