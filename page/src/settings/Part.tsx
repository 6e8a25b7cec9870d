import type { ReactNode } from "react";
import classes from "./Settings.module.css";

/** A part of a page of settings, under its heading. */
export function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={classes.part} aria-label={title}>
      <h2 className="ph-section-title">{title}</h2>
      {children}
    </section>
  );
}
