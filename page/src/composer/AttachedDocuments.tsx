import { Button, Loader } from "@mantine/core";
import { DocumentCard } from "../documents/DocumentCard";
import cards from "../documents/Documents.module.css";
import { PASTED } from "../documents/documents";
import classes from "./Composer.module.css";
import type { Composing } from "./useComposer";

type AttachedProps = Pick<Composing, "documents" | "waiting" | "removeDocument" | "asText">;

/** The documents that go with the message, and the files that are still being read. */
export function AttachedDocuments({ documents, waiting, removeDocument, asText }: AttachedProps) {
  if (!documents.length && !waiting.length) return null;
  return (
    <ul className={`${cards.cards} ${classes.documents}`} aria-label="Attached documents">
      {documents.map((document) => (
        <li key={document.id}>
          <DocumentCard document={document}>
            <div className={cards.foot}>
              {document.name === PASTED && (
                <Button size="compact-xs" variant="subtle" color="gray" onClick={() => asText(document)}>
                  Turn into text
                </Button>
              )}
              <Button size="compact-xs" variant="subtle" color="gray" aria-label={`Remove ${document.name}`} onClick={() => removeDocument(document.id)}>
                Remove
              </Button>
            </div>
          </DocumentCard>
        </li>
      ))}
      {waiting.map(({ name }, at) => (
        <li key={`${at} ${name}`}>
          <div className={cards.card} role="status">
            <span className={cards.waiting}>
              <Loader size={16} aria-hidden />
              <span className={cards.words}>
                <span className={cards.name}>{name}</span>
                <span className={cards.about}>Reading…</span>
              </span>
            </span>
          </div>
        </li>
      ))}
    </ul>
  );
}
