import { Button, Modal } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useEffect, useState } from "react";
import { api, errorText } from "../api/client";
import type { Consent, ServerView } from "../api/types";
import { ARMING_MS } from "../approvals/useArmed";
import { Warning } from "../settings/Warning";
import { DialogFoot } from "../shell/DialogFoot";
import { changeServers } from "./actions";
import classes from "./Dialogs.module.css";
import { Plain } from "./Plain";
import { useKept } from "./useKept";

function Sentences({ title, lines }: { title: string; lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <Warning title={title}>
      <ul className={classes.sentences}>
        {lines.map((line) => (
          <li key={line}>
            <Plain text={line} />
          </li>
        ))}
      </ul>
    </Warning>
  );
}

function Command({ consent }: { consent: Consent }) {
  const [program, ...args] = consent.argv;
  return (
    <>
      <h3 className={classes.subtitle}>The whole command</h3>
      <ol className={classes.argv} aria-label="The whole command">
        <li>
          <Plain text={program ?? ""} />
        </li>
        {args.map((arg, at) => (
          <li key={at}>
            <Plain text={arg} />
          </li>
        ))}
      </ol>
      <dl className={classes.facts}>
        <dt>Program</dt>
        <dd>
          <Plain text={consent.program} />
        </dd>
        <dt>Owned by</dt>
        <dd>{consent.programOwner || "unknown"}</dd>
        <dt>Folder</dt>
        <dd>{consent.folder ? <Plain text={consent.folder} /> : "one of its own"}</dd>
        <dt>Sandbox</dt>
        <dd>{consent.sandbox ? <Plain text={consent.sandbox} /> : "none"}</dd>
        <dt>Environment</dt>
        <dd>{consent.environment.length ? <Plain text={consent.environment.join(", ")} /> : "nothing of its own"}</dd>
      </dl>
    </>
  );
}

/** What it is bound to beside the program, which is shown above. */
function Bound({ files }: { files: readonly string[] }) {
  return (
    <>
      <h3 className={classes.subtitle}>You are asked again when one of these changes</h3>
      <ul className={classes.files} aria-label="Files that are compared">
        {files.map((file) => (
          <li key={file}>
            <Plain text={file} />
          </li>
        ))}
      </ul>
      <p className={classes.lead}>What these load in turn is not compared.</p>
    </>
  );
}

/** Tell for a moment that the command became another one while it was looked at: a press meant the one before. */
function useReplaced(fingerprint: string): boolean {
  const [seen, setSeen] = useState(fingerprint);
  useEffect(() => {
    const timer = setTimeout(() => setSeen(fingerprint), ARMING_MS);
    return () => clearTimeout(timer);
  }, [fingerprint]);
  return seen !== fingerprint;
}

function Asking({ server, consent, onClose }: { server: ServerView; consent: Consent; onClose: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const isReplaced = useReplaced(consent.fingerprint);
  const agree = () => {
    setBusy(true);
    setProblem("");
    changeServers(api.consent(server.id, consent.fingerprint))
      .then(onClose, (error: unknown) => setProblem(errorText(error)))
      .finally(() => setBusy(false));
  };
  return (
    <div className={classes.stack}>
      <p className={classes.lead}>
        This starts a program on the machine where Pilothouse runs,{" "}
        {consent.sandbox ? "in a sandbox" : "with the same rights as Pilothouse"}. Start it only if you know where
        it comes from.
      </p>
      <Sentences title="Changed since you agreed" lines={consent.changes} />
      <Sentences title="Look twice" lines={consent.warnings} />
      <Command consent={consent} />
      <Bound files={consent.files} />
      <DialogFoot problem={problem}>
        <Button variant="default" data-autofocus onClick={onClose}>
          Not now
        </Button>
        <Button loading={isBusy} disabled={isReplaced} onClick={agree}>
          Start this server
        </Button>
      </DialogFoot>
    </div>
  );
}

/** Shows a command in full before it starts for the first time, or after it changed. */
export function ConsentDialog({ server, onClose }: { server: ServerView | null; onClose: () => void }) {
  const isNarrow = useMediaQuery("(max-width: 600px)", false, { getInitialValueInEffect: false });
  const shown = useKept(server);
  return (
    <Modal
      opened={server !== null}
      onClose={onClose}
      title={`Start “${shown?.name ?? ""}”?`}
      size="lg"
      fullScreen={isNarrow}
      closeOnClickOutside={false}
      // What was there before it may be gone, a form for example.
      returnFocus={false}
      classNames={{ title: classes.longTitle ?? "" }}
    >
      {shown?.consent && <Asking key={shown.id} server={shown} consent={shown.consent} onClose={onClose} />}
      {shown && !shown.consent && <p className={classes.lead}>There is nothing to agree to any more.</p>}
    </Modal>
  );
}
