import type { Ref } from "react";
import type { Item } from "../api/types";
import { QuestionIcon } from "../shell/icons";
import classes from "./Approvals.module.css";
import { endings } from "./settled";

/** How questions about calls ended: one quiet line for each way. */
export function Settled({ items, ref }: { items: readonly Item[]; ref?: Ref<HTMLElement> }) {
  return (
    <section ref={ref} className={classes.settled} aria-label="Question" tabIndex={-1}>
      {endings(items).map((words) => (
        <p key={words}>
          <QuestionIcon size={15} />
          <span>{words}</span>
        </p>
      ))}
    </section>
  );
}
