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
      <div className={classes.face}>
        <FileIcon size={20} />
        <div className={classes.words}>
          {/* All of the card is pressed; its name says what is opened. */}
          <button type="button" className={classes.open} title={`Open ${name}`} onClick={() => viewDocument({ id, page: 0, line: 0 })}>
            {name}
          </button>
          <span className={classes.about}>{aboutDocument(document)}</span>
          {preview && <span className={classes.preview}>{preview}</span>}
          {note && <span className={classes.note}>{note}</span>}
        </div>
      </div>
      {children}
    </div>
  );
}
