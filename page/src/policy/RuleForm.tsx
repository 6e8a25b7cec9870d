import { SegmentedControl, Textarea, TextInput } from "@mantine/core";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { authority, type PolicyView, type Rule, type Verdict } from "../api/authority";
import { errorText } from "../api/client";
import { focusError } from "../forms/focusError";
import { Dialog } from "../shell/Dialog";
import { DialogFoot, FormButtons } from "../shell/DialogFoot";
import { PatternFields } from "./PatternFields";
import classes from "./Policy.module.css";
import { Replay } from "./Replay";
import { complaintOf, ruleOf, withRule, type Complaint, type RuleDraft } from "./ruleDraft";
import { verdictNames } from "./words";

const verdicts = (Object.keys(verdictNames) as Verdict[]).map((value) => ({ value, label: verdictNames[value] }));

interface FieldsProps {
  first: RuleDraft;
  rules: readonly Rule[];
  onKept: (policy: PolicyView) => void;
  onClose: () => void;
}

interface ExamplesProps {
  label: string;
  description: string;
  value: string;
  problem: string | undefined;
  onChange: (text: string) => void;
}

function Examples({ label, description, value, problem, onChange }: ExamplesProps) {
  return (
    <Textarea
      label={label}
      description={description}
      error={problem}
      autosize
      minRows={1}
      maxRows={6}
      spellCheck={false}
      value={value}
      classNames={{ input: "ph-mono" }}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** A rule being written, and what the server says against it when it is saved. */
function useRule(first: RuleDraft, onKept: (policy: PolicyView) => void) {
  const [draft, setDraft] = useState(first);
  const [isBusy, setBusy] = useState(false);
  const [complaint, setComplaint] = useState<Complaint | null>(null);
  const edit = (change: Partial<RuleDraft>) => {
    setDraft({ ...draft, ...change });
    setComplaint(null);
  };
  const keep = async () => {
    // Read again: another tab, or an answer to a question, may have added a rule meanwhile.
    const now = (await authority.policy()).rules;
    const rule = ruleOf(draft, now);
    return authority.keepPolicy(withRule(now, rule)).catch((error: unknown) => {
      setComplaint(complaintOf(errorText(error), rule.id));
      return null;
    });
  };
  const save = () => {
    setBusy(true);
    keep()
      .then((policy) => policy && onKept(policy))
      .catch((error: unknown) => setComplaint({ field: "form", sentence: errorText(error) }))
      .finally(() => setBusy(false));
  };
  const problemOf = (field: Complaint["field"]) => (complaint?.field === field ? complaint.sentence : undefined);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (complaint) focusError(form.current);
  }, [complaint]);
  return { draft, form, isBusy, edit, save, problemOf };
}

function Fields({ first, rules, onKept, onClose }: FieldsProps) {
  const { draft, form, isBusy, edit, save, problemOf } = useRule(first, onKept);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save();
  };
  return (
    <form ref={form} className={classes.form} onSubmit={submit}>
      <SegmentedControl
        aria-label="What happens"
        data={verdicts}
        value={draft.verdict}
        onChange={(value) => edit({ verdict: value as Verdict })}
      />
      <PatternFields isWhole pattern={draft.pattern} problem={problemOf("pattern")} onChange={(pattern) => edit({ pattern })} />
      <TextInput
        label="Note"
        description="Why this rule is there; it is shown with what it decides."
        maxLength={500}
        value={draft.note}
        onChange={(event) => edit({ note: event.currentTarget.value })}
      />
      <Examples
        label="It is about"
        description="Calls to try it on when it is saved, one to a line: git status, or file_operations.create_file: src/a.ts"
        value={draft.match}
        problem={problemOf("match")}
        onChange={(match) => edit({ match })}
      />
      <Examples
        label="It is not about"
        description="Calls that it must leave alone."
        value={draft.notMatch}
        problem={problemOf("notMatch")}
        onChange={(notMatch) => edit({ notMatch })}
      />
      <Replay rules={() => withRule(rules, ruleOf(draft, rules))} />
      <DialogFoot problem={problemOf("form") ?? ""}>
        <FormButtons onCancel={onClose} isBusy={isBusy} disabled={!draft.pattern.tool}>
          Save
        </FormButtons>
      </DialogFoot>
    </form>
  );
}

interface RuleFormProps {
  draft: RuleDraft | null;
  rules: readonly Rule[];
  onKept: (policy: PolicyView) => void;
  onClose: () => void;
}

/** A rule to add or to change, tried on its examples when it is saved. */
export function RuleForm({ draft, rules, onKept, onClose }: RuleFormProps) {
  return (
    <Dialog about={draft} title={({ id }) => (id ? "Edit a rule" : "Add a rule")} size="lg" onClose={onClose}>
      {(shown) => <Fields key={shown.id} first={shown} rules={rules} onKept={onKept} onClose={onClose} />}
    </Dialog>
  );
}
