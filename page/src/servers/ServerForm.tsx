import { Button } from "@mantine/core";
import { useRef, useState, type FormEvent } from "react";
import { api, errorText } from "../api/client";
import type { ServerChecked, ServerView } from "../api/types";
import { focusError } from "../forms/focusError";
import { Dialog } from "../shell/Dialog";
import { DialogFoot, FormButtons } from "../shell/DialogFoot";
import { changeServers, needsConsent } from "./actions";
import { AskedFirst } from "./AskedFirst";
import { useCheck, type Check } from "./checking";
import { CheckState, FoundTools } from "./CheckResult";
import classes from "./Dialogs.module.css";
import keyClasses from "./Keys.module.css";
import { check, draftOf, newDraft, toInput, type DraftErrors, type ServerDraft } from "./serverDraft";
import { ServerFields } from "./ServerFields";
import { TOKEN, withFound } from "./serverKeys";
import { useFocusKey } from "./useFocusKey";

interface FormProps {
  server: ServerView | "new";
  /** The key to begin with. */
  at: string | null;
  onClose: () => void;
  /** What was saved, and whether its person wants to sign in to it. */
  onSaved: (server: ServerView, wantsSignIn: boolean) => void;
}

/** Keep what was typed; whoever agreed to the very command when it was checked is not asked again. */
async function save(draft: ServerDraft, agreed: string): Promise<ServerView> {
  const input = toInput(draft);
  const made = await (draft.id ? api.editServer(draft.id, input) : api.addServer(input));
  const isAgreed = needsConsent(made) && made.consent?.fingerprint === agreed;
  return changeServers(isAgreed ? api.consent(made.id, agreed, draft.cannotSend) : Promise.resolve(made));
}

/** Return the form after a check: with fields for what the server said it lacks, and its way in. */
function learned(draft: ServerDraft, { needsSignIn, keys }: ServerChecked): ServerDraft {
  const found = withFound(draft.keys, keys);
  return { ...draft, keys: needsSignIn ? found.map((key) => (key.id === TOKEN ? { ...key, from: "sign-in" } : key)) : found };
}

function useServerForm({ server, onSaved }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [draft, setDraft] = useState<ServerDraft>(() => (server === "new" ? newDraft() : draftOf(server)));
  const [errors, setErrors] = useState<DraftErrors>({});
  const [isSaving, setSaving] = useState(false);
  const [problem, setProblem] = useState("");
  const focusKey = useFocusKey(form);
  const checking = useCheck((result) => {
    setDraft((now) => learned(now, result));
    const lacks = result.keys.find(({ source }) => source === "missing");
    if (lacks) focusKey(lacks.id);
  });
  const change = (next: ServerDraft) => {
    setDraft(next);
    // Sentences go as soon as they are no longer true; new ones wait for the next try.
    const now = check(next);
    setErrors((before) => Object.fromEntries(Object.entries(before).filter(([field]) => field in now)));
    setProblem("");
    // What was checked is not what is there any more.
    checking.stop();
  };
  const isRight = () => {
    const found = check(draft);
    setErrors(found);
    const isGood = Object.keys(found).length === 0;
    if (!isGood) focusError(form.current);
    return isGood;
  };
  const wantsSignIn = draft.keys.some(({ id, from, before }) => id === TOKEN && from === "sign-in" && before.from !== from);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isRight()) return;
    setSaving(true);
    void save(draft, checking.started)
      .then((made) => onSaved(made, wantsSignIn && made.transport === "http"))
      .catch((error: unknown) => setProblem(errorText(error)))
      .finally(() => setSaving(false));
  };
  const start = (fingerprint?: string) => {
    setProblem("");
    if (isRight()) checking.start(Promise.resolve({ server: toInput(draft), id: draft.id ?? "" }), fingerprint);
  };
  return { form, draft, errors, isSaving, problem, change, submit, start, wantsSignIn, check: checking.check, stop: checking.stop };
}

/** Of one that does not answer nobody knows. */
const needsNothing = (server: ServerView | "new") =>
  server !== "new" && server.state !== "error" && server.authType === "none" && server.keys.length === 0;

const words = ({ id }: ServerDraft, wantsSignIn: boolean) => `${id ? "Save" : "Add"}${wantsSignIn ? " and sign in" : ""}`;

const isAsking = (now: Check): now is Extract<Check, { name: "asking" }> => now.name === "asking";

function Form(props: FormProps) {
  const { form, draft, errors, isSaving, problem, change, submit, start, wantsSignIn, check: now, stop } = useServerForm(props);
  return (
    <>
      {/* What was typed stays while its command is looked at. */}
      <form ref={form} hidden={isAsking(now)} onSubmit={submit} noValidate autoComplete="off" className={classes.stack}>
        <ServerFields draft={draft} errors={errors} at={props.at} needsNone={needsNothing(props.server)} onChange={change} />
        {now.name === "done" && <FoundTools result={now.result} />}
        <DialogFoot problem={problem} said={<CheckState check={now} onStop={stop} />}>
          <Button variant="default" className={keyClasses.check} disabled={isSaving || now.name === "running"} onClick={() => start()}>
            Check
          </Button>
          <FormButtons onCancel={props.onClose} isBusy={isSaving}>
            {words(draft, wantsSignIn)}
          </FormButtons>
        </DialogFoot>
      </form>
      {isAsking(now) && (
        <AskedFirst consent={now.consent} isNew={draft.id === null} onBack={stop} onStart={() => start(now.consent.fingerprint)} />
      )}
    </>
  );
}

/** The form that adds a server or edits one; `server` says which, null closes it. */
export function ServerForm({ server, ...props }: Omit<FormProps, "server"> & { server: FormProps["server"] | null }) {
  return (
    <Dialog
      about={server}
      title={(shown) => (shown === "new" ? "Add a server" : `Configure: ${shown.name}`)}
      size="lg"
      onClose={props.onClose}
      closeOnClickOutside={false}
    >
      {(shown) => <Form server={shown} {...props} />}
    </Dialog>
  );
}
