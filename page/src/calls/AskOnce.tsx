import { Button } from "@mantine/core";
import { useState } from "react";
import { tell } from "../shell/messages";
import classes from "./Calls.module.css";

interface AskOnceProps {
  label: string;
  asked: string;
  /** Whether it was asked already, here or elsewhere. */
  wasAsked?: boolean;
  ask: () => Promise<unknown>;
}

/** A button that asks once, and again only if asking failed. */
export function AskOnce({ label, asked, wasAsked = false, ask }: AskOnceProps) {
  const [isAsked, setAsked] = useState(false);
  const send = () => {
    setAsked(true);
    void ask().catch((error: unknown) => {
      setAsked(false);
      tell(error);
    });
  };
  const isOver = isAsked || wasAsked;
  return (
    <Button size="compact-xs" variant="default" className={classes.ask ?? ""} disabled={isOver} onClick={send}>
      {isOver ? asked : label}
    </Button>
  );
}
