import { Button, FileButton, Textarea } from "@mantine/core";
import { useEffect, useState, type FormEvent } from "react";
import { errorText } from "../api/client";
import { finding } from "../api/finding";
import type { ImportQuestion, ImportReport, OtherFile } from "../api/types";
import { Dialog } from "../shell/Dialog";
import { DialogFoot, FormButtons } from "../shell/DialogFoot";
import { changeServers } from "./actions";
import classes from "./Dialogs.module.css";
import { importAll, questionsOf, requestsOf, type Answers, type ChosenServers } from "./importing";
import { ImportQuestions } from "./ImportQuestions";
import { ImportResult } from "./ImportResult";
import { OnThisMachine } from "./OnThisMachine";

/** Settings files are small; anything larger is another file. */
const MAX_BYTES = 2_000_000;

/** What other programs have, once it was asked for. */
function useOtherFiles(asksAtOnce: boolean, onProblem: (problem: string) => void) {
  const [files, setFiles] = useState<readonly OtherFile[] | null>(null);
  const [isLooking, setLooking] = useState(false);
  const look = () => {
    setLooking(true);
    finding
      .otherFiles()
      .then(
        (found) => setFiles(found.files),
        (error: unknown) => onProblem(errorText(error)),
      )
      .finally(() => setLooking(false));
  };
  useEffect(() => {
    if (asksAtOnce) look();
  }, []);
  return { files, isLooking, look };
}

function useImport(looks: boolean) {
  const [text, setText] = useState("");
  const [origin, setOrigin] = useState("");
  const [chosen, setChosen] = useState<ChosenServers>(new Map());
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [questions, setQuestions] = useState<readonly ImportQuestion[]>([]);
  const [report, setReport] = useState<ImportReport | null>(null);
  const machine = useOtherFiles(looks, setProblem);
  const requests = requestsOf(machine.files ?? [], chosen, text, origin);
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
  const finish = async (answers: Answers) => setReport(await changeServers(importAll(requests, answers)));
  const ask = async () => {
    const open = await questionsOf(requests);
    if (open.length) setQuestions(open);
    else await finish({});
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const what = machine.files?.length ? "Choose servers, or paste the text of a file." : "Paste the file’s text, or choose the file.";
    if (requests.length === 0) return setProblem(what);
    during(ask());
  };
  const answer = (answers: Answers) => during(finish(answers));
  const back = () => {
    setQuestions([]);
    setProblem("");
  };
  return { text, setText, origin, chosen, setChosen, machine, problem, isBusy, questions, report, take, submit, answer, back };
}

interface ImportProps {
  /** Whether the person has asked already what there is on this machine. */
  looks: boolean;
  onClose: () => void;
  /** The chosen servers are on; these wait for a look at their commands. */
  onLook: (ids: readonly string[]) => void;
}

function Import({ looks, onClose, onLook }: ImportProps) {
  const { text, setText, origin, chosen, setChosen, machine, problem, isBusy, questions, report, take, submit, answer, back } = useImport(looks);
  if (report) return <ImportResult report={report} onClose={onClose} onLook={onLook} />;
  if (questions.length) {
    return <ImportQuestions questions={questions} isBusy={isBusy} problem={problem} onBack={back} onAnswer={answer} />;
  }
  return (
    <form onSubmit={submit} className={classes.stack}>
      <p className="ph-lead">
        What Claude, VS Code, Cursor, Windsurf, Zed, goose, Codex, Gemini CLI, LM Studio, Cherry Studio and others like them
        have configured. Nothing of it starts by being imported.
      </p>
      <OnThisMachine files={machine.files} isLooking={machine.isLooking} chosen={chosen} onLook={machine.look} onChange={setChosen} />
      <Textarea
        label={machine.files?.length ? "Or the text of a file" : "The file’s text"}
        placeholder={'{"mcpServers": {"files": {"command": "npx", "args": ["-y", "…"]}}}'}
        data-autofocus={!looks || undefined}
        autosize
        minRows={machine.files?.length ? 2 : 6}
        maxRows={16}
        spellCheck={false}
        classNames={{ input: "ph-mono" }}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <DialogFoot problem={problem}>
        <FileButton accept=".json,.jsonc,.toml,.yaml,.yml,application/json" onChange={(file) => void take(file)}>
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
export default function ImportDialog({ opened, ...props }: ImportProps & { opened: boolean }) {
  return (
    <Dialog about={opened || null} onClose={props.onClose} title={() => "Import servers"} size="lg" closeOnClickOutside={false}>
      {() => <Import {...props} />}
    </Dialog>
  );
}
