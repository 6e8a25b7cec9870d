import type { ReactNode } from "react";
import classes from "./Documents.module.css";
import type { DocumentPlace } from "./documents";
import { viewDocument } from "./viewing";

/** A place in a document that an answer quotes; pressing it opens the document there. */
export function Citation({ place, children }: { place: DocumentPlace; children: ReactNode }) {
  return (
    <button type="button" className={classes.cite} title="Open this place in the document" onClick={() => viewDocument(place)}>
      {children}
    </button>
  );
}
