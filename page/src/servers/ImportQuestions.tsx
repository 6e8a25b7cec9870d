import { Checkbox, PasswordInput, Select, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import type { ImportQuestion } from "../api/types";
import { DialogFoot, FormButtons } from "../shell/DialogFoot";
import classes from "./Dialogs.module.css";

import type { Answers } from "./importing";

interface FieldProps {
  question: ImportQuestion;
  answer: string | null;
  onChange: (answer: string | null) => void;
}

/** Who needs it, in a few words. */
function neededBy(servers: readonly string[]): string {
  const named = servers.slice(0, 3).join(", ");
  return servers.length > 3 ? `${named} and ${servers.length - 3} more` : named;
}

function Field({ question, answer, onChange }: FieldProps) {
  const { id, label, secret, options = [], servers = [] } = question;
  const kept = secret ? " Kept as a secret." : "";
  const common = {
    label,
    description: `For ${neededBy(servers)}.${kept}`,
    disabled: answer === null,
    spellCheck: false,
  };
  const value = answer ?? "";
  if (options.length) {
    return <Select {...common} data={[...new Set(options)]} value={value || null} clearable onChange={(chosen) => onChange(chosen ?? "")} />;
  }
  if (!secret) {
    return <TextInput {...common} name={id} value={value} onChange={(event) => onChange(event.currentTarget.value)} />;
  }
  return (
    <PasswordInput
      {...common}
      autoComplete="new-password"
      value={value}
      visibilityToggleButtonProps={{ "aria-label": `Show: ${label}`, tabIndex: 0 }}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

interface QuestionsProps {
  questions: readonly ImportQuestion[];
  isBusy: boolean;
  problem: string;
  onBack: () => void;
  onAnswer: (answers: Answers) => void;
}

/** Asks for what the other program would have filled in; what stays empty can be entered later. */
export function ImportQuestions({ questions, isBusy, problem, onBack, onAnswer }: QuestionsProps) {
  const [answers, setAnswers] = useState<Answers>(() =>
    Object.fromEntries(questions.map(({ id, default: given }) => [id, given ?? ""])),
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onAnswer(Object.fromEntries(Object.entries(answers).filter(([, answer]) => answer !== "")));
  };
  const change = (id: string, answer: string | null) => setAnswers((before) => ({ ...before, [id]: answer }));
  return (
    <form onSubmit={submit} noValidate autoComplete="off" className={classes.stack}>
      <p className="ph-lead">This file leaves something open. What you leave empty can be entered later, in the settings of the server.</p>
      {questions.map((question) => (
        <div key={question.id} className={classes.question}>
          <Field question={question} answer={answers[question.id] ?? (question.id in answers ? null : "")} onChange={(answer) => change(question.id, answer)} />
          {question.isSet && (
            <Checkbox
              size="xs"
              label="Take the value that it has where Pilothouse runs"
              checked={answers[question.id] === null}
              onChange={(event) => change(question.id, event.currentTarget.checked ? null : "")}
            />
          )}
        </div>
      ))}
      <DialogFoot problem={problem}>
        <FormButtons onCancel={onBack} cancel="Back" isBusy={isBusy}>
          Import
        </FormButtons>
      </DialogFoot>
    </form>
  );
}
