import { Button, Checkbox, NumberInput, PasswordInput, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { numberOrNothing } from "../settings/ModelFields";
import { ChevronIcon } from "../shell/icons";
import { understand, type Understood } from "./commandLine";
import classes from "./Dialogs.module.css";
import { PairFields } from "./PairFields";
import type { DraftErrors, ServerDraft } from "./serverDraft";
import { USUAL_SECONDS } from "./words";

interface FieldsProps {
  draft: ServerDraft;
  errors: DraftErrors;
  onChange: (draft: ServerDraft) => void;
}

const wires = [
  { value: "auto", label: "Detected" },
  { value: "streamable", label: "Streamable HTTP" },
  { value: "sse", label: "HTTP+SSE (older)" },
  { value: "websocket", label: "WebSocket" },
];
const eras = [
  { value: "auto", label: "Detected" },
  { value: "modern", label: "2026-07-28, without a handshake" },
  { value: "handshake", label: "2025-11-25 and before" },
];

function Meaning({ meant }: { meant: Understood }) {
  return (
    <div role="status" className={classes.meaning}>
      {"sentence" in meant && <p>{meant.sentence}</p>}
      {"notes" in meant && meant.notes.map((note) => <p key={note}>{note}</p>)}
      {meant.kind === "empty" && <p>A command line such as npx, uvx or docker takes, or an address that begins with https://.</p>}
    </div>
  );
}

function TokenField({ draft, errors, onChange }: FieldsProps) {
  const isKept = draft.keptToken === "keep";
  return (
    <div className={classes.stack}>
      <PasswordInput
        label="Token"
        description={isKept ? "A token is kept. Leave this empty to keep it." : "Optional. Sent as a bearer token, and kept as a secret."}
        autoComplete="new-password"
        spellCheck={false}
        disabled={draft.keptToken === "remove"}
        value={draft.token}
        error={errors.token}
        visibilityToggleButtonProps={{ "aria-label": "Show the token", tabIndex: 0 }}
        onChange={(event) => onChange({ ...draft, token: event.currentTarget.value })}
      />
      {draft.keptToken !== "none" && (
        <Checkbox
          label="Remove the kept token"
          checked={draft.keptToken === "remove"}
          onChange={(event) =>
            onChange({ ...draft, token: "", keptToken: event.currentTarget.checked ? "remove" : "keep" })
          }
        />
      )}
    </div>
  );
}

function Sandbox({ draft, onChange }: FieldsProps) {
  const where = draft.cwd.trim() ? "the folder above" : "a folder of its own";
  return (
    <>
      <Checkbox
        label="Run in a sandbox"
        description={`It can write to ${where} only, and sees neither your keys nor the data of Pilothouse.`}
        checked={draft.sandbox}
        onChange={(event) => onChange({ ...draft, sandbox: event.currentTarget.checked })}
      />
      {draft.sandbox && (
        <Checkbox
          label="Network in the sandbox"
          description="A package must be downloaded once before it starts without."
          checked={draft.network}
          onChange={(event) => onChange({ ...draft, network: event.currentTarget.checked })}
        />
      )}
    </>
  );
}

function Place({ draft, errors, onChange, isUrl }: FieldsProps & { isUrl: boolean }) {
  if (isUrl) {
    return (
      <>
        <PairFields label="Headers" what="header" pairs={draft.headers} error={errors.headers} onChange={(headers) => onChange({ ...draft, headers })} />
        <Select
          label="Transport"
          data={wires}
          allowDeselect={false}
          value={draft.wire}
          onChange={(value) => onChange({ ...draft, wire: (value ?? "auto") as ServerDraft["wire"] })}
        />
        <TextInput
          label="Trusted certificate"
          description="Only for a server of your own: the SHA-256 fingerprint of the one certificate that counts."
          placeholder="None"
          spellCheck={false}
          classNames={{ input: classes.mono ?? "" }}
          value={draft.certificate}
          error={errors.certificate}
          onChange={(event) => onChange({ ...draft, certificate: event.currentTarget.value })}
        />
      </>
    );
  }
  return (
    <>
      <PairFields label="Environment" what="variable" pairs={draft.env} error={errors.env} onChange={(env) => onChange({ ...draft, env })} />
      <TextInput
        label="Folder"
        description="Where the program starts."
        placeholder="Default"
        spellCheck={false}
        value={draft.cwd}
        error={errors.cwd}
        onChange={(event) => onChange({ ...draft, cwd: event.currentTarget.value })}
      />
      <Sandbox draft={draft} errors={errors} onChange={onChange} />
    </>
  );
}

function Times({ draft, errors, onChange }: FieldsProps) {
  return (
    <NumberInput
      label="A call may take"
      description="Seconds. Single tools may have another time: it is set where its tools are listed."
      placeholder={String(USUAL_SECONDS)}
      min={1}
      value={draft.total}
      error={errors.total}
      onChange={(value) => onChange({ ...draft, total: numberOrNothing(value) })}
    />
  );
}

function Behaviour({ draft, onChange }: FieldsProps) {
  return (
    <>
      <Select
        label="Protocol"
        data={eras}
        allowDeselect={false}
        value={draft.era}
        onChange={(value) => onChange({ ...draft, era: (value ?? "auto") as ServerDraft["era"] })}
      />
      <Checkbox
        label="Always on"
        description="Otherwise it starts when a tool of it is used, and stops when it was not used for long."
        checked={draft.alwaysOn}
        onChange={(event) => onChange({ ...draft, alwaysOn: event.currentTarget.checked })}
      />
      <Checkbox
        label="One for each conversation"
        description="For servers that remember what was done in one."
        checked={draft.perConversation}
        onChange={(event) => onChange({ ...draft, perConversation: event.currentTarget.checked })}
      />
      <Checkbox
        label="Only tools that read"
        description="Offer no tool that does not say it only reads."
        checked={draft.readOnly}
        onChange={(event) => onChange({ ...draft, readOnly: event.currentTarget.checked })}
      />
      <Checkbox
        label="Sends nothing on"
        description="You vouch that nothing it is told leaves this machine; then private data may go there unasked."
        checked={draft.cannotSend}
        onChange={(event) => onChange({ ...draft, cannotSend: event.currentTarget.checked })}
      />
    </>
  );
}

const folded = ["env", "headers", "cwd", "certificate", "total"] as const;

/** All fields of a server; what is rarely needed is folded away. */
export function ServerFields(props: FieldsProps) {
  const { draft, errors, onChange } = props;
  const [isOpen, setOpen] = useState(draft.env.length + draft.headers.length > 0 || draft.certificate !== "");
  const meant = understand(draft.line);
  const isUrl = meant.kind === "url";
  // A mistake must not stay out of sight.
  const shows = isOpen || folded.some((name) => errors[name]);
  return (
    <>
      <div>
        <TextInput
          label="Command or address"
          placeholder="npx -y @modelcontextprotocol/server-filesystem ~/Documents"
          required
          data-autofocus
          spellCheck={false}
          classNames={{ input: classes.mono ?? "" }}
          value={draft.line}
          error={errors.line}
          onChange={(event) => onChange({ ...draft, line: event.currentTarget.value })}
        />
        {!errors.line && <Meaning meant={meant} />}
      </div>
      <TextInput
        label="Name"
        placeholder={draft.id ? "" : "Taken from the line above"}
        maxLength={80}
        value={draft.name}
        error={errors.name}
        onChange={(event) => onChange({ ...draft, name: event.currentTarget.value })}
      />
      {isUrl && <TokenField {...props} />}
      {draft.slots.map(({ name, value }) => (
        <PasswordInput
          key={name}
          label={name}
          description={`Stands in place of \${secret:${name}}. Leave this empty to keep the value that is there.`}
          autoComplete="new-password"
          spellCheck={false}
          value={value}
          visibilityToggleButtonProps={{ "aria-label": `Show the value of ${name}`, tabIndex: 0 }}
          onChange={(event) => {
            const typed = event.currentTarget.value;
            onChange({ ...draft, slots: draft.slots.map((slot) => (slot.name === name ? { name, value: typed } : slot)) });
          }}
        />
      ))}
      <Button
        variant="subtle"
        color="gray"
        size="compact-sm"
        className={classes.more}
        aria-expanded={shows}
        leftSection={
          <span className={classes.chevron} data-open={shows || undefined}>
            <ChevronIcon size={14} />
          </span>
        }
        onClick={() => setOpen(!shows)}
      >
        {isUrl ? "Headers, transport, certificate, times" : "Environment, folder, sandbox, times"}
      </Button>
      {shows && (
        <div className={classes.stack}>
          <Place {...props} isUrl={isUrl} />
          <Times {...props} />
          <Behaviour {...props} />
        </div>
      )}
    </>
  );
}
