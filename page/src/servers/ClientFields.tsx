import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { Failure } from "../settings/Warning";
import { Unfold } from "../shell/More";
import classes from "./Dialogs.module.css";
import type { Client } from "./signIns";

interface FieldsProps {
  client: Client;
  onChange: (client: Client) => void;
  /** What to know about the secret. */
  note: string;
  needsSecret?: boolean;
}

/** The client that a person was given by an issuer. */
export function ClientFields({ client, onChange, note, needsSecret = false }: FieldsProps) {
  return (
    <>
      <TextInput
        label="Client id"
        required
        data-autofocus
        autoComplete="off"
        spellCheck={false}
        value={client.clientId}
        onChange={(event) => onChange({ ...client, clientId: event.currentTarget.value })}
      />
      <PasswordInput
        label="Client secret"
        description={note}
        required={needsSecret}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ "aria-label": "Show the client secret", tabIndex: 0 }}
        value={client.clientSecret}
        onChange={(event) => onChange({ ...client, clientSecret: event.currentTarget.value })}
      />
    </>
  );
}

/** For servers that nobody sits before: a program signs in by itself, and does so again when its token ends. */
export function AsProgram({ onSend }: { onSend: (client: Client) => Promise<string> }) {
  const [isOpen, setOpen] = useState(false);
  const [client, setClient] = useState<Client>({ clientId: "", clientSecret: "" });
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const send = useRef<HTMLDivElement>(null);
  // On a low screen it would lie behind the buttons of the dialog.
  useEffect(() => void send.current?.scrollIntoView({ block: "nearest" }), [isOpen, problem]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    void onSend({ ...client, clientId: client.clientId.trim() })
      .then(setProblem)
      .finally(() => setBusy(false));
  };
  return (
    <div>
      <Unfold isOpen={isOpen} onToggle={() => setOpen(!isOpen)}>
        Sign in as a program, without a person?
      </Unfold>
      {isOpen && (
        <form className={classes.stack} onSubmit={submit}>
          <p className="ph-lead">
            With a client id and secret that you were given for that (client credentials). No browser is needed, now or later.
          </p>
          <ClientFields client={client} onChange={setClient} note="Kept as a secret." needsSecret />
          <Failure message={problem} />
          <div ref={send} className="ph-actions">
            <Button
              type="submit"
              variant="default"
              loading={isBusy}
              disabled={!client.clientId.trim() || !client.clientSecret.trim()}
            >
              Sign in as a program
            </Button>
          </div>
        </form>
      )}
    </div>
  );
}
