import { Button, FileButton, Modal, Textarea } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { api, errorText } from "../api/client";
import type { ImportReport } from "../api/types";
import { Failure } from "../settings/Warning";
import { changeServers } from "./actions";
import classes from "./Dialogs.module.css";

/** Settings files are small; anything larger is another file. */
const MAX_BYTES = 2_000_000;

const outcomes = { added: "added", known: "known already", refused: "refused" } as const;

function Report({ report, onClose }: { report: ImportReport; onClose: () => void }) {
  const added = report.servers.filter(({ outcome }) => outcome === "added").length;
  return (
    <div className={classes.stack} role="status">
      <p className={classes.lead}>
        {added === 0
          ? "Nothing was added."
          : `${added === 1 ? "One server was" : `${added} servers were`} added. A local program asks for your consent before it starts.`}
      </p>
      <ul className={classes.report}>
        {report.servers.map(({ name, outcome, reason }) => (
          <li key={name} data-outcome={outcome}>
            <strong>{name}</strong> {outcomes[outcome]}
            {reason && `: ${reason}`}
          </li>
        ))}
      </ul>
      <div className={classes.actions}>
        <span className={classes.space} />
        <Button onClick={onClose}>Close</Button>
      </div>
    </div>
  );
}

function useImport() {
  const [text, setText] = useState("");
  const [origin, setOrigin] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [report, setReport] = useState<ImportReport | null>(null);
  const take = async (file: File | null) => {
    if (!file) return;
    if (file.size > MAX_BYTES) return setProblem(`${file.name} is too large to be a settings file.`);
    setText(await file.text());
    setOrigin(file.name);
    setProblem("");
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!text.trim()) return setProblem("Paste the file’s text, or choose the file.");
    setBusy(true);
    setProblem("");
    changeServers(api.importServers(text, origin))
      .then(setReport, (error: unknown) => setProblem(errorText(error)))
      .finally(() => setBusy(false));
  };
  return { text, setText, origin, problem, isBusy, report, take, submit };
}

function Import({ onClose }: { onClose: () => void }) {
  const { text, setText, origin, problem, isBusy, report, take, submit } = useImport();
  if (report) return <Report report={report} onClose={onClose} />;
  return (
    <form onSubmit={submit} className={classes.stack}>
      <p className={classes.lead}>
        The settings of Claude Desktop, Claude Code, VS Code and Cursor are understood. Nothing in them starts by being
        imported.
      </p>
      <Textarea
        label="The file’s text"
        placeholder={'{"mcpServers": {"files": {"command": "npx", "args": ["-y", "…"]}}}'}
        data-autofocus
        autosize
        minRows={6}
        maxRows={16}
        spellCheck={false}
        classNames={{ input: classes.mono ?? "" }}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Failure message={problem} />
      <div className={classes.actions}>
        <FileButton accept=".json,.jsonc,application/json" onChange={(file) => void take(file)}>
          {(props) => (
            <Button {...props} variant="default">
              Choose a file…
            </Button>
          )}
        </FileButton>
        {origin && <span className={classes.quiet}>{origin}</span>}
        <span className={classes.space} />
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" loading={isBusy}>
          Import
        </Button>
      </div>
    </form>
  );
}

/** Takes over the servers of another program's settings. */
export function ImportDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="Import servers" size="lg" closeOnClickOutside={false}>
      <Import onClose={onClose} />
    </Modal>
  );
}
