import { Button, Radio } from "@mantine/core";
import { useEffect, useState, type ReactNode } from "react";
import { api, errorText, withFix } from "../api/client";
import type { Consent, ServerView } from "../api/types";
import { ARMING_MS } from "../approvals/useArmed";
import { Warning } from "../settings/Warning";
import { Dialog } from "../shell/Dialog";
import { DialogFoot } from "../shell/DialogFoot";
import { useApp } from "../store/store";
import { changeServers, isLookedUp } from "./actions";
import classes from "./Dialogs.module.css";
import { Plain, Seen } from "./Plain";
import { Working } from "./Working";

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
      <dl className="ph-facts">
        <dt>Program</dt>
        <dd>
          <Plain text={consent.program} />
        </dd>
        {consent.installs.length ? null : (
          <>
            <dt>Owned by</dt>
            <dd>{consent.programOwner || "unknown"}</dd>
          </>
        )}
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

/** What is installed before the program starts: which package, at which version, with which content. */
function Installs({ lines }: { lines: readonly string[] }) {
  if (!lines.length) return null;
  return (
    <>
      <h3 className={classes.subtitle}>What is installed first</h3>
      <ul className={classes.files} aria-label="What is installed first">
        {lines.map((line) => (
          <li key={line} className={classes.quiet}>
            <Seen text={line} />
          </li>
        ))}
      </ul>
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
      <p className="ph-lead">What these load in turn is not compared.</p>
    </>
  );
}

/** All that is agreed to: what is changed, what to look at twice, the command, and what it is bound to. */
export function WhatStarts({ consent, children }: { consent: Consent; children?: ReactNode }) {
  return (
    <>
      <p className="ph-lead">
        This starts a program on the machine where Pilothouse runs,{" "}
        {consent.sandbox ? "in a sandbox" : "with the same rights as Pilothouse"}. Start it only if you know where
        it comes from. {children}
      </p>
      <Sentences title="Changed since you agreed" lines={consent.changes} />
      <Sentences title="Look twice" lines={consent.warnings} />
      <Installs lines={consent.installs} />
      <Command consent={consent} />
      {consent.files.length ? <Bound files={consent.files} /> : null}
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

type Reach = "open" | "offline" | "vouched";

/** Return what becomes of what a server is told, as it is set; who vouched for another command did not vouch for this one. */
const reachOf = ({ settings: { sandbox, network, cannotSend } }: ServerView, consent: Consent): Reach => {
  if (sandbox && network === false) return "offline";
  return cannotSend && !consent.changes.length ? "vouched" : "open";
};

interface ReachProps {
  reach: Reach;
  canHold: boolean;
  onChange: (reach: Reach) => void;
}

/** Whether private data may go to the server unasked: where it cannot leave the machine from there. */
function SendsOn({ reach, canHold, onChange }: ReachProps) {
  return (
    <Radio.Group label="What becomes of what it is told?" value={reach} onChange={(value) => onChange(value as Reach)}>
      <div className={classes.reaches}>
        <Radio value="open" label="It may send it on" description="You are asked before private data goes there." />
        {canHold && (
          <Radio
            value="offline"
            label="It runs without the network"
            description="In the sandbox, where it writes to its folder only; private data may go there unasked. A package must be there already."
          />
        )}
        <Radio value="vouched" label="It sends nothing on" description="You vouch for that; private data may go there unasked." />
      </div>
    </Radio.Group>
  );
}

function Asking({ server, consent, onClose }: { server: ServerView; consent: Consent; onClose: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const isReplaced = useReplaced(consent.fingerprint);
  const [reach, setReach] = useState(() => reachOf(server, consent));
  // How it is held where it may use the network: as it was set before it was looked at.
  const [open] = useState(() => (reach === "offline" ? { sandbox: false } : { sandbox: server.settings.sandbox ?? false }));
  const canHold = useApp((state) => state.config?.sandbox.offline ?? false) || reach === "offline";
  const choose = (chosen: Reach) => {
    setReach(chosen);
    setProblem("");
    if ((chosen === "offline") === (reach === "offline")) return;
    // What starts is another thing then, and is shown anew before anyone agrees to it.
    setBusy(true);
    const held = chosen === "offline" ? { sandbox: true, network: false } : { ...open, network: true };
    changeServers(api.patchServer(server.id, held))
      .catch((error: unknown) => {
        setReach(reach);
        setProblem(errorText(error));
      })
      .finally(() => setBusy(false));
  };
  const agree = () => {
    setBusy(true);
    setProblem("");
    changeServers(api.consent(server.id, consent.fingerprint, reach === "vouched"))
      .then(onClose, (error: unknown) => setProblem(errorText(error)))
      .finally(() => setBusy(false));
  };
  return (
    <div className={classes.stack}>
      <WhatStarts consent={consent} />
      <SendsOn reach={reach} canHold={canHold} onChange={choose} />
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

/** What there is to agree to is looked up, could not be found out, or is agreed to meanwhile. */
function NothingYet({ server, onClose }: { server: ServerView; onClose: () => void }) {
  const problem = server.state === "error" ? withFix(server.lastError, server.fix) : "";
  return (
    <div className={classes.stack}>
      {isLookedUp(server) ? (
        <Working>Looking up its package…</Working>
      ) : (
        !problem && <p className="ph-lead">There is nothing to agree to any more.</p>
      )}
      <DialogFoot problem={problem}>
        <Button variant="default" data-autofocus onClick={onClose}>
          Close
        </Button>
      </DialogFoot>
    </div>
  );
}

/** Shows a command in full before it starts for the first time, or after it changed. */
export function ConsentDialog({ server, onClose }: { server: ServerView | null; onClose: () => void }) {
  return (
    <Dialog
      about={server}
      title={({ name }) => `Start “${name}”?`}
      size="lg"
      onClose={onClose}
      closeOnClickOutside={false}
      // What was there before it may be gone, a form for example.
      returnFocus={false}
      classNames={{ title: classes.longTitle ?? "" }}
    >
      {(shown) =>
        shown.consent ? (
          <Asking key={shown.id} server={shown} consent={shown.consent} onClose={onClose} />
        ) : (
          <NothingYet key={shown.id} server={shown} onClose={onClose} />
        )
      }
    </Dialog>
  );
}
