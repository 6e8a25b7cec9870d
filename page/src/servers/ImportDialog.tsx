import { Button, FileButton, Modal, Textarea } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { api, errorText } from "../api/client";
import type { ImportQuestion, ImportReport } from "../api/types";
import { DialogFoot, FormButtons } from "../shell/DialogFoot";
import { changeServers } from "./actions";
import classes from "./Dialogs.module.css";
import { ImportQuestions, type Answers } from "./ImportQuestions";
import { ImportResult } from "./ImportResult";

/** Settings files are small; anything larger is another file. */
const MAX_BYTES = 2_000_000;

function useImport() {
  const [text, setText] = useState("");
  const [origin, setOrigin] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [questions, setQuestions] = useState<readonly ImportQuestion[]>([]);
  const [report, setReport] = useState<ImportReport | null>(null);
  const take = async (file: File | null) => {
    if (!file) return;
    if (file.size > MAX_BYTES) return setProblem(`${file.name} is too large to be a settings file.`);
    setText(await file.text());
    setOrigin(file.name);
    setProblem("");
  };
  const during = (work: Promise<void>) => {
    setBusy(true);
    setProblem("");
    void work.catch((error: unknown) => setProblem(errorText(error))).finally(() => setBusy(false));
  };
  const finish = async (answers: Answers) => setReport(await changeServers(api.importServers(text, origin, answers)));
  const ask = async () => {
    const { questions: open } = await api.importQuestions(text);
    if (open.length) setQuestions(open);
    else await finish({});
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!text.trim()) return setProblem("Paste the file’s text, or choose the file.");
    during(ask());
  };
  const answer = (answers: Answers) => during(finish(answers));
  const back = () => {
    setQuestions([]);
    setProblem("");
  };
  return { text, setText, origin, problem, isBusy, questions, report, take, submit, answer, back };
}

interface ImportProps {
  onClose: () => void;
  /** The chosen servers are on; these wait for a look at their commands. */
  onLook: (ids: readonly string[]) => void;
}

function Import({ onClose, onLook }: ImportProps) {
  const { text, setText, origin, problem, isBusy, questions, report, take, submit, answer, back } = useImport();
  if (report) return <ImportResult report={report} onClose={onClose} onLook={onLook} />;
  if (questions.length) {
    return <ImportQuestions questions={questions} isBusy={isBusy} problem={problem} onBack={back} onAnswer={answer} />;
  }
  return (
    <form onSubmit={submit} className={classes.stack}>
      <p className="ph-lead">
        The settings of Claude, VS Code, Cursor, Windsurf, Zed, Cline, Gemini CLI and others like them are understood.
        Nothing in them starts by being imported.
      </p>
      <Textarea
        label="The file’s text"
        placeholder={'{"mcpServers": {"files": {"command": "npx", "args": ["-y", "…"]}}}'}
        data-autofocus
        autosize
        minRows={6}
        maxRows={16}
        spellCheck={false}
        classNames={{ input: "ph-mono" }}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <DialogFoot problem={problem}>
        <FileButton accept=".json,.jsonc,application/json" onChange={(file) => void take(file)}>
          {(props) => (
            <Button {...props} variant="default">
              Choose a file…
            </Button>
          )}
        </FileButton>
        {origin && <span className={classes.quiet}>{origin}</span>}
        <span className="ph-space" />
        <FormButtons onCancel={onClose} isBusy={isBusy}>
          Import
        </FormButtons>
      </DialogFoot>
    </form>
  );
}

/** Takes over the servers of another program's settings. */
export function ImportDialog({ opened, ...props }: ImportProps & { opened: boolean }) {
  return (
    <Modal opened={opened} onClose={props.onClose} title="Import servers" size="lg" closeOnClickOutside={false}>
      <Import {...props} />
    </Modal>
  );
}
