import { Button, Select } from "@mantine/core";
import { useEffect, useState } from "react";
import { errorText } from "../api/client";
import { finding, type Program } from "../api/finding";
import type { ServerView, Snippet } from "../api/types";
import dialogs from "../servers/Dialogs.module.css";
import { Plain } from "../servers/Plain";
import { CopyButton } from "../shell/CopyButton";
import { Dialog } from "../shell/Dialog";
import { DialogFoot } from "../shell/DialogFoot";
import classes from "./Finding.module.css";

const programs: Record<Program, string> = {
  "claude-desktop": "Claude Desktop",
  "claude-code": "Claude Code",
  vscode: "VS Code",
  cursor: "Cursor",
  windsurf: "Windsurf",
  zed: "Zed",
  goose: "goose",
  codex: "Codex",
  "gemini-cli": "Gemini CLI",
  "lm-studio": "LM Studio",
  "cherry-studio": "Cherry Studio",
};

function useSnippet(id: string, program: Program) {
  const [snippet, setSnippet] = useState<Snippet | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let isCurrent = true;
    setProblem("");
    finding.exported(id, program).then(
      (made) => isCurrent && setSnippet(made),
      (error: unknown) => isCurrent && setProblem(errorText(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [id, program]);
  return { snippet, problem };
}

function Export({ server, onClose }: { server: ServerView; onClose: () => void }) {
  const [program, setProgram] = useState<Program>("claude-desktop");
  const { snippet, problem } = useSnippet(server.id, program);
  return (
    <div className={dialogs.stack}>
      <Select
        label="For"
        data={Object.entries(programs).map(([value, label]) => ({ value, label }))}
        allowDeselect={false}
        value={program}
        onChange={(value) => setProgram((value ?? "claude-desktop") as Program)}
      />
      {snippet && (
        <div>
          <div className="ph-label">
            <span>{snippet.path ? <>Put it into <Plain text={snippet.path} /></> : "Run this"}</span>
            <CopyButton value={snippet.text} label="Copy the text" />
          </div>
          <pre className={`ph-code ${classes.snippet}`} tabIndex={0} aria-label="Text for the other program">
            {snippet.text}
          </pre>
        </div>
      )}
      {snippet?.notes.map((note) => (
        <p key={note} className={dialogs.quiet}>
          {note}
        </p>
      ))}
      <DialogFoot problem={problem}>
        <Button data-autofocus onClick={onClose}>
          Close
        </Button>
      </DialogFoot>
    </div>
  );
}

/** Shows a server as another program takes it, without its secrets. */
export default function ExportDialog({ server, onClose }: { server: ServerView | null; onClose: () => void }) {
  return (
    <Dialog about={server} title={({ name }) => `Copy “${name}” for another program`} size="lg" onClose={onClose}>
      {(shown) => <Export key={shown.id} server={shown} onClose={onClose} />}
    </Dialog>
  );
}
