import { Button, FileButton, NativeSelect } from "@mantine/core";
import { useCallback, useEffect, useState } from "react";
import { errorText } from "../api/client";
import { documents } from "../api/documents";
import type { Document, DocumentPage } from "../api/types";
import { Failure } from "../settings/Warning";
import { tell } from "../shell/messages";
import { activeRun } from "../store/conversation";
import { useApp } from "../store/store";
import { DocumentCard } from "./DocumentCard";
import classes from "./Documents.module.css";
import { aboutFile } from "./sentences";

type Scope = Document["scope"];

interface Choice {
  label: string;
  scope: Scope;
}

/** Return who can see a document of the open conversation: each that there is. */
function useChoices(): readonly Choice[] {
  const conversation = useApp((state) => state.open?.conversation);
  if (!conversation) return [];
  const { topicId, workingDirectory } = conversation.settings;
  return [
    { label: "This conversation", scope: { kind: "conversation", id: conversation.id } },
    ...(topicId ? [{ label: "This topic", scope: { kind: "topic", id: topicId } } as const] : []),
    ...(workingDirectory ? [{ label: "This folder", scope: { kind: "folder", id: workingDirectory } } as const] : []),
    { label: "Everywhere", scope: { kind: "everywhere", id: "" } },
  ];
}

const keyOf = ({ kind, id }: Scope) => `${kind} ${id}`;

interface RowProps {
  document: Document;
  choices: readonly Choice[];
  onChanged: () => void;
}

function Row({ document, choices, onChanged }: RowProps) {
  const [isGone, setGone] = useState(false);
  const doing = (work: Promise<unknown>) => void work.then(onChanged, tell);
  if (isGone) {
    return (
      <p className={classes.where}>
        {document.name} was removed.{" "}
        <Button
          size="compact-xs"
          variant="subtle"
          onClick={() => void documents.restore(document.id).then(() => setGone(false), tell)}
        >
          Undo
        </Button>
      </p>
    );
  }
  return (
    <DocumentCard document={document}>
      <div className={classes.foot}>
        <NativeSelect
          size="xs"
          aria-label={`Who sees ${document.name}`}
          data={choices.map(({ label, scope }) => ({ label, value: keyOf(scope) }))}
          value={keyOf(document.scope)}
          onChange={(event) => {
            const chosen = choices.find(({ scope }) => keyOf(scope) === event.currentTarget.value);
            if (chosen) doing(documents.update(document.id, { scope: chosen.scope }));
          }}
        />
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          aria-label={`Remove ${document.name}`}
          onClick={() => void documents.remove(document.id).then(() => setGone(true), tell)}
        >
          Remove
        </Button>
      </div>
    </DocumentCard>
  );
}

/** The documents that the open conversation sees. */
export default function DocumentsTab() {
  const id = useApp((state) => state.open?.conversation.id);
  // What was attached or imported meanwhile.
  const sent = useApp((state) => state.sent);
  const isRunning = useApp((state) => activeRun(state.open) !== null);
  const choices = useChoices();
  const [found, setFound] = useState<DocumentPage | null>(null);
  const [problem, setProblem] = useState("");
  const [isReading, setReading] = useState(false);
  const load = useCallback(() => {
    if (!id) return;
    documents.seenBy(id).then(
      (page) => {
        setFound(page);
        setProblem("");
      },
      (error: unknown) => setProblem(errorText(error)),
    );
  }, [id]);
  useEffect(load, [load, sent, isRunning]);
  if (!id) return <p className="ph-lead">Documents belong to a conversation. Attach one to your first message.</p>;
  const add = async (files: File[]) => {
    setReading(true);
    const outcomes = await Promise.allSettled(files.map((file) => documents.upload(file.name, file, { seenBy: id })));
    setReading(false);
    load();
    const refused = outcomes.flatMap((one, at) => (one.status === "rejected" ? [aboutFile(files[at]?.name ?? "", one.reason)] : []));
    setProblem(refused.join("\n"));
  };
  return (
    <div className={classes.list}>
      <FileButton onChange={(files) => void add(files)} multiple>
        {(props) => (
          <Button {...props} size="compact-md" variant="default" loading={isReading}>
            Add documents
          </Button>
        )}
      </FileButton>
      <Failure message={problem} />
      {found && found.documents.length === 0 && (
        <p className="ph-lead">No documents yet. Drop files anywhere on the page, or add them here.</p>
      )}
      <ul className={classes.cards} aria-label="Documents">
        {(found?.documents ?? []).map((document) => (
          <li key={document.id}>
            <Row document={document} choices={choices} onChanged={load} />
          </li>
        ))}
      </ul>
    </div>
  );
}
