import type { ReactNode } from "react";
import { FileIcon } from "../shell/icons";
import classes from "./Documents.module.css";
import { aboutDocument, type Shown } from "./documents";
import { viewDocument } from "./viewing";

/** A document: what it is and how it begins; pressing it opens its text. */
export function DocumentCard({ document, children }: { document: Shown; children?: ReactNode }) {
  const { id, name, preview, note } = document;
  return (
    <div className={classes.card}>
      <button type="button" className={classes.open} aria-label={`Open ${name}`} onClick={() => viewDocument({ id, page: 0, line: 0 })}>
        <FileIcon size={20} />
        <span className={classes.words}>
          <span className={classes.name}>{name}</span>
          <span className={classes.about}>{aboutDocument(document)}</span>
          {preview && <span className={classes.preview}>{preview}</span>}
          {note && <span className={classes.note}>{note}</span>}
        </span>
      </button>
      {children}
    </div>
  );
}
