import { Button, Checkbox, Radio, TextInput } from "@mantine/core";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { api, errorText } from "../api/client";
import type { Proposal, ServerChecked, ServerView } from "../api/types";
import { FieldView } from "../forms/FieldView";
import { focusError } from "../forms/focusError";
import { changeServers, needsConsent } from "../servers/actions";
import { AskedFirst } from "../servers/AskedFirst";
import { useCheck, type Check } from "../servers/checking";
import { CheckState, FoundTools } from "../servers/CheckResult";
import dialogs from "../servers/Dialogs.module.css";
import keyClasses from "../servers/Keys.module.css";
import { Seen } from "../servers/Plain";
import { namedKey, TOKEN, withFound } from "../servers/serverKeys";
import { useFocusKey } from "../servers/useFocusKey";
import { Working } from "../servers/Working";
import { Warning } from "../settings/Warning";
import { DialogFoot, FormButtons } from "../shell/DialogFoot";
import { PlusIcon } from "../shell/icons";
import { Unfold } from "../shell/More";
import classes from "./Finding.module.css";
import { ProposedKeys } from "./ProposedKeys";
import { errorsOf, fieldsOf, filledIn, isInstalled, isUrl, newProposalDraft, type ProposalDraft, type ProposalErrors } from "./proposalDraft";

interface ConfigureProps {
  /** The ways in which one server can be had; one of them is taken. */
  proposals: readonly Proposal[];
  /** What it is, in one sentence. */
  what: string;
  onBack: () => void;
  /** What was added, and whether its person wants to sign in to it. */
  onSaved: (server: ServerView, wantsSignIn: boolean) => void;
}

/** Add what was filled in; whoever agreed to the very command when it was checked is not asked again. */
async function add(proposal: Proposal, draft: ProposalDraft, agreed: string): Promise<ServerView> {
  const made = await api.addServer(await filledIn(proposal, draft));
  const isAgreed = needsConsent(made) && made.consent?.fingerprint === agreed;
  return changeServers(isAgreed ? api.consent(made.id, agreed, false) : Promise.resolve(made));
}

/** Return the form after a check: with fields for what the server said it lacks, and its way in. */
function learned(draft: ProposalDraft, { needsSignIn, keys }: ServerChecked): ProposalDraft {
  const found = withFound(draft.keys, keys);
  return { ...draft, keys: needsSignIn ? found.map((key) => (key.id === TOKEN ? { ...key, from: "sign-in" } : key)) : found };
}

function useConfigure(proposal: Proposal, onSaved: ConfigureProps["onSaved"]) {
  const form = useRef<HTMLFormElement>(null);
  const [draft, setDraft] = useState(() => newProposalDraft(proposal));
  const [errors, setErrors] = useState<ProposalErrors | null>(null);
  const [problem, setProblem] = useState("");
  const [isSaving, setSaving] = useState(false);
  const [saysSignIn, setSaysSignIn] = useState(false);
  const focusKey = useFocusKey(form);
  const checking = useCheck((result) => {
    setSaysSignIn(result.needsSignIn);
    setDraft((now) => learned(now, result));
    const lacks = result.keys.find(({ source }) => source === "missing");
    if (lacks) focusKey(lacks.id);
  });
  const change = (next: ProposalDraft) => {
    setDraft(next);
    setProblem("");
    // Sentences go as soon as they are no longer true; new ones wait for the next try.
    if (errors) setErrors(errorsOf(proposal, next));
    checking.stop();
  };
  const isGood = () => {
    const found = errorsOf(proposal, draft);
    setErrors(found);
    if (found) focusError(form.current);
    return found === null;
  };
  const wantsSignIn =
    isUrl(proposal) && (proposal.authType === "oauth" || saysSignIn || draft.keys.some(({ id, from }) => id === TOKEN && from === "sign-in"));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isGood()) return;
    setSaving(true);
    add(proposal, draft, checking.started)
      .then((made) => onSaved(made, wantsSignIn))
      .catch((error: unknown) => setProblem(errorText(error)))
      .finally(() => setSaving(false));
  };
  const start = (fingerprint?: string) => {
    setProblem("");
    if (isGood()) checking.start(filledIn(proposal, draft).then((server) => ({ server, id: "" })), fingerprint);
  };
  return { form, draft, errors, problem, isSaving, wantsSignIn, change, submit, start, check: checking.check, stop: checking.stop };
}

function Options({ proposal, draft, onChange }: { proposal: Proposal; draft: ProposalDraft; onChange: (draft: ProposalDraft) => void }) {
  const [isShown, setShown] = useState(false);
  const scripts =
    proposal.kind === "npm"
      ? { label: "Let its packages run scripts when they are installed", description: "A few need that to build a part of themselves. They run before anyone has looked at them." }
      : { label: "Let its packages be built here", description: "Only for packages that are not offered ready-made. Building one runs its own program." };
  return (
    <>
      <Unfold isOpen={isShown} onToggle={() => setShown(!isShown)}>
        {isUrl(proposal) ? "Other keys" : isInstalled(proposal) ? "Other keys, sandbox, install scripts" : "Other keys, sandbox"}
      </Unfold>
      {isShown && (
        <div className={dialogs.stack}>
          <Button
            size="compact-xs"
            variant="default"
            className={keyClasses.add}
            leftSection={<PlusIcon size={13} />}
            onClick={() => onChange({ ...draft, keys: [...draft.keys, namedKey()] })}
          >
            Add a key…
          </Button>
          {!isUrl(proposal) && (
            <Checkbox
              label="Run in a sandbox"
              description="It can write to a folder of its own only, and sees neither your keys nor the data of Pilothouse."
              checked={draft.sandbox}
              onChange={(event) => onChange({ ...draft, sandbox: event.currentTarget.checked })}
            />
          )}
          {isInstalled(proposal) && (
            <Checkbox {...scripts} checked={draft.scripts} onChange={(event) => onChange({ ...draft, scripts: event.currentTarget.checked })} />
          )}
        </div>
      )}
    </>
  );
}

/** What a careful reader would notice, and what was taken over in another way. */
function Said({ proposal }: { proposal: Proposal }) {
  return (
    <>
      {proposal.warnings.length > 0 && (
        <Warning title="Look twice">
          <ul className={dialogs.sentences}>
            {proposal.warnings.map((line) => (
              <li key={line}>
                <Seen text={line} />
              </li>
            ))}
          </ul>
        </Warning>
      )}
      {proposal.notes.map((note) => (
        <p key={note} className={dialogs.quiet}>
          <Seen text={note} />
        </p>
      ))}
    </>
  );
}

function Fields({ proposal, draft, errors, onChange }: { proposal: Proposal; draft: ProposalDraft; errors: ProposalErrors | null; onChange: (draft: ProposalDraft) => void }) {
  const fields = fieldsOf(proposal);
  return (
    <>
      <TextInput
        label="Name"
        maxLength={80}
        value={draft.name}
        placeholder="Taken from what it is"
        onChange={(event) => onChange({ ...draft, name: event.currentTarget.value })}
      />
      <ProposedKeys proposal={proposal} keys={draft.keys} errors={errors?.keys ?? {}} onChange={(keys) => onChange({ ...draft, keys })} />
      {fields.fields.length > 0 && (
        <FieldView field={fields} draft={draft.values} errors={errors?.values ?? {}} path="" onChange={(values) => onChange({ ...draft, values })} />
      )}
      <Options proposal={proposal} draft={draft} onChange={onChange} />
    </>
  );
}

function ProposalForm({ proposal, onBack, onSaved }: { proposal: Proposal } & Pick<ConfigureProps, "onBack" | "onSaved">) {
  const { form, draft, errors, problem, isSaving, wantsSignIn, change, submit, start, check, stop } = useConfigure(proposal, onSaved);
  const isAsking = check.name === "asking";
  // What is to be filled in first, else the button that adds it: one who has nothing to say goes on with Enter.
  useEffect(() => {
    const first = form.current?.querySelector<HTMLElement>("[data-key-value] input, [aria-required=true], input[required]");
    (first ?? form.current?.querySelector<HTMLElement>("button[type=submit]"))?.focus();
  }, [form]);
  return (
    <>
      <form ref={form} hidden={isAsking} onSubmit={submit} noValidate autoComplete="off" className={dialogs.stack}>
        <Said proposal={proposal} />
        <Fields proposal={proposal} draft={draft} errors={errors} onChange={change} />
        {check.name === "done" && <FoundTools result={check.result} />}
        <DialogFoot problem={problem} said={<Progress isSaving={isSaving} proposal={proposal} check={check} onStop={stop} />}>
          <Button variant="default" className={keyClasses.check} disabled={isSaving || check.name === "running"} onClick={() => start()}>
            Check
          </Button>
          <FormButtons onCancel={onBack} cancel="Back" isBusy={isSaving}>
            {wantsSignIn ? "Add and sign in" : "Add"}
          </FormButtons>
        </DialogFoot>
      </form>
      {isAsking && <AskedFirst consent={check.consent} isNew onBack={stop} onStart={() => start(check.consent.fingerprint)} />}
    </>
  );
}

/** What is done meanwhile, beside the buttons: an index of packages takes seconds to answer. */
function Progress({ isSaving, proposal, check, onStop }: { isSaving: boolean; proposal: Proposal; check: Check; onStop: () => void }) {
  if (isSaving && isInstalled(proposal)) return <Working>Looking up its package…</Working>;
  return <CheckState check={check} onStop={onStop} />;
}

/** Which of the ways is taken, where there are several. */
function Ways({ proposals, at, onChange }: { proposals: readonly Proposal[]; at: number; onChange: (at: number) => void }) {
  return (
    <Radio.Group label="How it runs" value={String(at)} onChange={(value) => onChange(Number(value))}>
      <div className={classes.choices}>
        {proposals.map((proposal, place) => (
          <Radio
            key={place}
            value={String(place)}
            disabled={!proposal.server}
            label={
              <span className="ph-mono">
                <Seen text={proposal.runs} />
              </span>
            }
            description={proposal.problem}
          />
        ))}
      </div>
    </Radio.Group>
  );
}

/** The form of a server that was found: what it is, and only what is still to be said. */
export function Configure({ proposals, what, onBack, onSaved }: ConfigureProps) {
  const [at, setAt] = useState(() => Math.max(0, proposals.findIndex(({ server }) => server !== null)));
  const proposal = proposals[at];
  if (!proposal) return null;
  return (
    <div className={dialogs.stack}>
      <div className={classes.about}>
        <p className="ph-lead">
          <Seen text={proposal.description || what} />
        </p>
        {proposals.length === 1 && (
          <code className={classes.runs}>
            <Seen text={proposal.runs} />
          </code>
        )}
      </div>
      {proposals.length > 1 && <Ways proposals={proposals} at={at} onChange={setAt} />}
      {proposal.server ? (
        <ProposalForm key={at} proposal={proposal} onBack={onBack} onSaved={onSaved} />
      ) : (
        <DialogFoot problem={proposal.problem}>
          <Button variant="default" data-autofocus onClick={onBack}>
            Back
          </Button>
        </DialogFoot>
      )}
    </div>
  );
}
