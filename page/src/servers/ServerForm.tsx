import { Button, Modal } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useRef, useState, type FormEvent } from "react";
import { api, errorText } from "../api/client";
import type { ServerView } from "../api/types";
import { focusError } from "../forms/focusError";
import { DialogFoot } from "../shell/DialogFoot";
import { changeServers } from "./actions";
import classes from "./Dialogs.module.css";
import { check, draftOf, newDraft, toInput, type DraftErrors, type ServerDraft } from "./serverDraft";
import { ServerFields } from "./ServerFields";
import { useKept } from "./useKept";

interface FormProps {
  server: ServerView | "new";
  onClose: () => void;
  onSaved: (server: ServerView) => void;
}

function save(draft: ServerDraft): Promise<ServerView> {
  const input = toInput(draft);
  return changeServers(draft.id ? api.editServer(draft.id, input) : api.addServer(input));
}

function useServerForm({ server, onSaved }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [draft, setDraft] = useState<ServerDraft>(() => (server === "new" ? newDraft() : draftOf(server)));
  const [errors, setErrors] = useState<DraftErrors>({});
  const [isSaving, setSaving] = useState(false);
  const [problem, setProblem] = useState("");
  const change = (next: ServerDraft) => {
    setDraft(next);
    // Sentences go as soon as they are no longer true; new ones wait for the next try.
    const now = check(next);
    setErrors((before) => Object.fromEntries(Object.entries(before).filter(([field]) => field in now)));
    setProblem("");
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const found = check(draft);
    setErrors(found);
    if (Object.keys(found).length) return focusError(form.current);
    setSaving(true);
    return void save(draft)
      .then(onSaved, (error: unknown) => setProblem(errorText(error)))
      .finally(() => setSaving(false));
  };
  return { form, draft, errors, isSaving, problem, change, submit };
}

function Form(props: FormProps) {
  const { form, draft, errors, isSaving, problem, change, submit } = useServerForm(props);
  const { server } = props;
  // Of one that does not answer nobody knows.
  const needsNothing =
    server !== "new" &&
    server.state !== "error" &&
    server.authType === "none" &&
    !server.secretNames.length &&
    !server.secretSlots.length;
  return (
    <form ref={form} onSubmit={submit} noValidate autoComplete="off" className={classes.stack}>
      <ServerFields draft={draft} errors={errors} onChange={change} />
      {needsNothing && <p className={classes.lead}>No authentication required.</p>}
      <DialogFoot problem={problem}>
        <Button variant="default" onClick={props.onClose}>
          Cancel
        </Button>
        <Button type="submit" loading={isSaving}>
          {draft.id ? "Save" : "Add"}
        </Button>
      </DialogFoot>
    </form>
  );
}

/** The form that adds a server or edits one; `server` says which, null closes it. */
export function ServerForm({ server, ...props }: Omit<FormProps, "server"> & { server: FormProps["server"] | null }) {
  const isNarrow = useMediaQuery("(max-width: 600px)", false, { getInitialValueInEffect: false });
  const shown = useKept(server);
  const title = shown && shown !== "new" ? `Configure: ${shown.name}` : "Add a server";
  return (
    <Modal
      opened={server !== null}
      onClose={props.onClose}
      title={title}
      size="lg"
      fullScreen={isNarrow}
      closeOnClickOutside={false}
    >
      {shown && <Form server={shown} {...props} />}
    </Modal>
  );
}
