import { Button, Loader, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useId, useState, type FormEvent } from "react";
import type { ServerView, SignInStarted } from "../api/types";
import { CopyButton } from "../shell/CopyButton";
import { Dialog } from "../shell/Dialog";
import { DialogFoot } from "../shell/DialogFoot";
import { Unfold } from "../shell/More";
import { AsProgram, ClientFields } from "./ClientFields";
import classes from "./Dialogs.module.css";
import { Plain } from "./Plain";
import { redirectUri, useSignIn, type Client } from "./signIns";

/** Return the host as the network knows it; "" for what no browser should open. */
function hostOf(url: string): string {
  if (!URL.canParse(url)) return "";
  const { protocol, host } = new URL(url);
  return protocol === "https:" || protocol === "http:" ? host : "";
}

/** The rights that are asked for, and which of them are new. */
function Rights({ scopes, added, leftOut }: Pick<SignInStarted, "scopes" | "added" | "leftOut">) {
  if (scopes.length === 0) return "It does not say which; you read them there.";
  // Where all are new there is nothing to tell apart.
  const marked = added.length < scopes.length ? added : [];
  return (
    <>
      <ul className={classes.files} aria-label="Rights">
        {scopes.map((scope) => (
          <li key={scope}>
            <Plain text={scope} />
            {marked.includes(scope) && <strong> (new)</strong>}
          </li>
        ))}
      </ul>
      {leftOut > 0 && (
        <p className={classes.quiet}>
          {leftOut} more that it names {leftOut === 1 ? "is" : "are"} not asked for: too long, or too many.
        </p>
      )}
    </>
  );
}

function Place({ server, host, begun }: { server: ServerView; host: string; begun: SignInStarted }) {
  return (
    <dl className="ph-facts">
      <dt>Server</dt>
      <dd>
        <Plain text={server.address} />
      </dd>
      <dt>You sign in at</dt>
      <dd>
        <strong>
          <Plain text={host} />
        </strong>
      </dd>
      <dt>Rights</dt>
      <dd>
        <Rights {...begun} />
      </dd>
    </dl>
  );
}

/** For a browser that came back where Pilothouse is not, or may not be used. */
function Paste({ onSend }: { onSend: (address: string) => Promise<void> }) {
  const [isOpen, setOpen] = useState(false);
  const [address, setAddress] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    void onSend(address).finally(() => setBusy(false));
  };
  return (
    <div>
      <Unfold isOpen={isOpen} onToggle={() => setOpen(!isOpen)}>
        Signed in with another browser?
      </Unfold>
      {isOpen && (
        <form className={classes.pairRow} onSubmit={submit}>
          <TextInput
            className={classes.pairValue}
            label="Paste the address you were sent back to"
            placeholder={`${redirectUri()}?…`}
            autoComplete="off"
            spellCheck={false}
            value={address}
            onChange={(event) => setAddress(event.currentTarget.value)}
          />
          <Button type="submit" variant="default" className={classes.atEnd} loading={isBusy} disabled={!address.trim()}>
            Finish
          </Button>
        </form>
      )}
    </div>
  );
}

interface BegunProps {
  server: ServerView;
  begun: SignInStarted;
  onPaste: (address: string) => Promise<void>;
  onProgram: (client: Client) => Promise<string>;
  onClose: () => void;
}

function Begun({ server, begun, onPaste, onProgram, onClose }: BegunProps) {
  const [isAway, setAway] = useState(false);
  const host = hostOf(begun.url);
  if (!host) return <p className="ph-lead">The address where one signs in cannot be opened safely.</p>;
  return (
    <>
      <p className="ph-lead">
        You leave for another place, in a new tab, and let this server act for you there with the rights below. Go on only if
        you know both.
      </p>
      <Place server={server} host={host} begun={begun} />
      <Paste onSend={onPaste} />
      <AsProgram onSend={onProgram} />
      <DialogFoot
        said={
          isAway && (
            <p role="status" className={`ph-with-icon ${classes.quiet}`}>
              <Loader size={14} aria-hidden />
              <span>Waiting until you have signed in at {host}. This goes on by itself.</span>
            </p>
          )
        }
      >
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        {/* A link of the browser's own: a window that a script opens later would be kept from opening. */}
        <Button
          component="a"
          href={begun.url}
          target="_blank"
          rel="noopener noreferrer"
          data-autofocus
          variant={isAway ? "default" : "filled"}
          onClick={() => setAway(true)}
        >
          Continue to {host}
        </Button>
      </DialogFoot>
    </>
  );
}

interface FailedProps {
  message: string;
  needsClient: boolean;
  onAgain: (client?: Client) => void;
  onProgram: (client: Client) => Promise<string>;
  onClose: () => void;
}

/** Why it did not work, and another try; with a client of the person's own where only that helps. */
function Failed({ message, needsClient, onAgain, onProgram, onClose }: FailedProps) {
  const [client, setClient] = useState<Client>({ clientId: "", clientSecret: "" });
  const form = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onAgain({ ...client, clientId: client.clientId.trim() });
  };
  return (
    <>
      <form id={form} className={classes.stack} onSubmit={submit}>
        {needsClient && (
          <>
            <div>
              <p className="ph-lead">Register Pilothouse there, with this address to come back to:</p>
              <Plain text={redirectUri()} /> <CopyButton value={redirectUri()} label="Copy the address" />
            </div>
            <ClientFields client={client} onChange={setClient} note="Only where you were given one. Kept as a secret." />
          </>
        )}
      </form>
      <AsProgram onSend={onProgram} />
      <DialogFoot problem={message}>
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" form={form} disabled={needsClient && !client.clientId.trim()}>
          Retry
        </Button>
      </DialogFoot>
    </>
  );
}

function Signing({ server, onClose }: { server: ServerView; onClose: () => void }) {
  const done = () => {
    notifications.show({ color: "sea", message: `You are signed in to ${server.name}.` });
    onClose();
  };
  const { step, again, finish, asProgram } = useSignIn(server, done);
  return (
    <div className={classes.stack}>
      {step.name === "asking" && (
        <p role="status" className={`ph-with-icon ${classes.quiet}`}>
          <Loader size={14} aria-hidden />
          <span>Asking {server.name} where to sign in…</span>
        </p>
      )}
      {step.name === "begun" && (
        <Begun server={server} begun={step.begun} onPaste={finish} onProgram={asProgram} onClose={onClose} />
      )}
      {step.name === "failed" && <Failed {...step} onAgain={again} onProgram={asProgram} onClose={onClose} />}
    </div>
  );
}

/** Says where one signs in to a server and for what, before one leaves; goes away by itself when one has. */
export function SignInDialog({ server, onClose }: { server: ServerView | null; onClose: () => void }) {
  return (
    <Dialog
      about={server}
      title={({ name }) => `Sign in to “${name}”`}
      onClose={onClose}
      closeOnClickOutside={false}
      classNames={{ title: classes.longTitle ?? "" }}
    >
      {(shown) => <Signing key={shown.id} server={shown} onClose={onClose} />}
    </Dialog>
  );
}
