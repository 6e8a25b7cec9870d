import { Button } from "@mantine/core";
import { useEffect, useRef } from "react";
import type { Consent } from "../api/types";
import { DialogFoot } from "../shell/DialogFoot";
import { WhatStarts } from "./ConsentDialog";
import classes from "./Dialogs.module.css";

interface AskedProps {
  consent: Consent;
  isNew: boolean;
  onBack: () => void;
  onStart: () => void;
}

/** What a check would start, before it does. */
export function AskedFirst({ consent, isNew, onBack, onStart }: AskedProps) {
  const back = useRef<HTMLButtonElement>(null);
  useEffect(() => back.current?.focus(), []);
  return (
    <section aria-label="What the check starts" className={classes.stack}>
      <h3 className={classes.subtitle}>Start this once?</h3>
      <WhatStarts consent={consent}>
        It is stopped again at once, and nothing of it is kept. If you then {isNew ? "add" : "save"} it unchanged, you are not
        asked again.
      </WhatStarts>
      <DialogFoot>
        <Button ref={back} variant="default" onClick={onBack}>
          Back
        </Button>
        <Button onClick={onStart}>Start once</Button>
      </DialogFoot>
    </section>
  );
}
