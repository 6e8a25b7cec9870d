import { Button } from "@mantine/core";
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
      <div className="ph-actions">{children}</div>
    </div>
  );
}

interface FormButtonsProps {
  onCancel: () => void;
  /** What the button says that goes back. */
  cancel?: string;
  isBusy?: boolean;
  disabled?: boolean;
  children: ReactNode;
}

/** The way out of a form, and the button that sends it. */
export function FormButtons({ onCancel, cancel = "Cancel", isBusy = false, disabled = false, children }: FormButtonsProps) {
  return (
    <>
      <Button variant="default" onClick={onCancel}>
        {cancel}
      </Button>
      <Button type="submit" loading={isBusy} disabled={disabled}>
        {children}
      </Button>
    </>
  );
}
