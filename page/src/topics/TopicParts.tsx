import { Button, FileButton } from "@mantine/core";
import { useCallback, useEffect, useState } from "react";
import { errorText } from "../api/client";
import { documents } from "../api/documents";
import type { Document, Topic } from "../api/types";
import { DocumentCard } from "../documents/DocumentCard";
import documentClasses from "../documents/Documents.module.css";
import { memories, type Memory } from "../memory/memories";
import { Failure } from "../settings/Warning";
import { PlusIcon } from "../shell/icons";
import { withLinks } from "../shell/links";
import { tell } from "../shell/messages";
import classes from "./Topics.module.css";

const words = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

function Memories({ topicId }: { topicId: string }) {
  const [found, setFound] = useState<readonly Memory[] | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    const wanted = { scope: { kind: "topic", id: topicId } as const, forgotten: false };
    memories.list(wanted, stop.signal).then(
      (page) => setFound(page.memories),
      (error: unknown) => !stop.signal.aborted && tell(error),
    );
    return () => stop.abort();
  }, [topicId]);
  return (
    <section aria-label="Memories of this topic">
      <h2 className="ph-section-title">Memories</h2>
      {found && !found.length && <p className={classes.quiet}>None yet. What its conversations remember stands here.</p>}
      <ul className={classes.rows}>
        {found?.map((memory) => (
          <li key={memory.key} className={classes.memory}>
            {memory.text.startsWith(memory.title) ? memory.text : `${memory.title}: ${memory.text}`}
          </li>
        ))}
      </ul>
      {found && found.length > 0 && (
        <p className={classes.quiet}>{withLinks("Change or forget them in Settings, Memory.")}</p>
      )}
    </section>
  );
}

function Documents({ topicId }: { topicId: string }) {
  const [found, setFound] = useState<readonly Document[] | null>(null);
  const [problem, setProblem] = useState("");
  const [isReading, setReading] = useState(false);
  const load = useCallback(() => {
    documents.of({ kind: "topic", id: topicId }).then((page) => setFound(page.documents), tell);
  }, [topicId]);
  useEffect(load, [load]);
  const add = async (files: File[]) => {
    setReading(true);
    const where = { scope: "topic", scopeId: topicId } as const;
    const outcomes = await Promise.allSettled(files.map((file) => documents.upload(file.name, file, where)));
    setReading(false);
    setProblem(outcomes.flatMap((one) => (one.status === "rejected" ? [errorText(one.reason)] : [])).join(" "));
    load();
  };
  return (
    <section aria-label="Documents of this topic">
      <div className={classes.head}>
        <h2 className="ph-section-title">Documents</h2>
        <FileButton onChange={(files) => void add(files)} multiple>
          {(props) => (
            <Button {...props} size="compact-sm" variant="default" leftSection={<PlusIcon size={15} />} loading={isReading}>
              Add documents
            </Button>
          )}
        </FileButton>
      </div>
      <Failure message={problem} />
      {found && !found.length && <p className={classes.quiet}>None yet. What you add here, all its conversations can search.</p>}
      <ul className={documentClasses.cards} aria-label="Documents">
        {found?.map((document) => (
          <li key={document.id}>
            <DocumentCard document={document} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What the conversations of a topic share. */
export function TopicParts({ topic }: { topic: Topic }) {
  return (
    <>
      <Documents topicId={topic.id} />
      <Memories topicId={topic.id} />
      <p className={classes.quiet}>{words(topic.todos, "todo is", "todos are")} shared by its conversations.</p>
    </>
  );
}
