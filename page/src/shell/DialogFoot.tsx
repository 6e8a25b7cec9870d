import type { ReactNode } from "react";
import { Failure } from "../settings/Warning";
import classes from "./DialogFoot.module.css";

interface DialogFootProps {
  /** Why it did not work; said beside the buttons, where one looks after pressing them. */
  problem?: string;
  /** What else came of pressing one. */
  said?: ReactNode;
  children: ReactNode;
}

/** The buttons of a dialog: always in view, however long what is above them. */
export function DialogFoot({ problem = "", said, children }: DialogFootProps) {
  return (
    <div className={classes.foot}>
      <Failure message={problem} />
      {said}
      <div className={classes.buttons}>{children}</div>
    </div>
  );
}

/** What stands after this is at the right. */
export const Space = () => <span className={classes.space} />;
