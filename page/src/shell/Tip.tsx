import { Tooltip } from "@mantine/core";
import { useState, type ReactNode } from "react";
import classes from "./Tip.module.css";

interface TipProps {
  label: string;
  /** Whether what the button opens is there: the word about it would only stand before that. */
  isQuiet?: boolean;
  children: ReactNode;
}

/** A word about a button. It goes when the button is pressed, and comes again with the pointer. */
export function Tip({ label, isQuiet = false, children }: TipProps) {
  const [isPressed, setPressed] = useState(false);
  return (
    <span className={classes.tip} onClickCapture={() => setPressed(true)} onPointerLeave={() => setPressed(false)}>
      <Tooltip label={label} disabled={isPressed || isQuiet}>
        {children}
      </Tooltip>
    </span>
  );
}
