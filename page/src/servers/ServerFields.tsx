import { Checkbox, NumberInput, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { numberOrNothing } from "../settings/ModelFields";
import { Unfold } from "../shell/More";
import { understand, type Understood } from "./commandLine";
import classes from "./Dialogs.module.css";
import { KeyFields, type KeyFieldsProps } from "./KeyFields";
import { PairFields } from "./PairFields";
import type { DraftErrors, Pair, ServerDraft } from "./serverDraft";
import { namedKey } from "./serverKeys";
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

interface TickProps extends Pick<FieldsProps, "draft" | "onChange"> {
  field: { [K in keyof ServerDraft]: ServerDraft[K] extends boolean ? K : never }[keyof ServerDraft];
  label: string;
  description: string;
}

function Tick({ draft, onChange, field, label, description }: TickProps) {
  return (
    <Checkbox
      label={label}
      description={description}
      checked={draft[field]}
      onChange={(event) => onChange({ ...draft, [field]: event.currentTarget.checked })}
    />
  );
}

function Sandbox(props: FieldsProps) {
  const { draft } = props;
  const where = draft.cwd.trim() ? "the folder above" : "a folder of its own";
  return (
    <>
      <Tick {...props} field="sandbox" label="Run in a sandbox" description={`It can write to ${where} only, and sees neither your keys nor the data of Pilothouse.`} />
      {draft.sandbox && (
        <Tick {...props} field="network" label="Network in the sandbox" description="A package must be downloaded once before it starts without." />
      )}
    </>
  );
}

/** Return the form with a readable value made a key. */
function asKey(draft: ServerDraft, { key, name, value }: Pair): ServerDraft {
  const others = (pairs: Pair[]) => pairs.filter((pair) => pair.key !== key);
  return { ...draft, env: others(draft.env), headers: others(draft.headers), keys: [...draft.keys, namedKey(name.trim(), value)] };
}

function Place({ draft, errors, onChange, isUrl }: FieldsProps & { isUrl: boolean }) {
  const onSecret = (pair: Pair) => onChange(asKey(draft, pair));
  if (isUrl) {
    return (
      <>
        <PairFields
          label="Headers"
          what="header"
          pairs={draft.headers}
          error={errors.headers}
          onChange={(headers) => onChange({ ...draft, headers })}
          onSecret={onSecret}
        />
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
          classNames={{ input: "ph-mono" }}
          value={draft.certificate}
          error={errors.certificate}
          onChange={(event) => onChange({ ...draft, certificate: event.currentTarget.value })}
        />
      </>
    );
  }
  return (
    <>
      <PairFields
        label="Environment"
        what="variable"
        pairs={draft.env}
        error={errors.env}
        onChange={(env) => onChange({ ...draft, env })}
        onSecret={onSecret}
      />
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

function Behaviour(props: FieldsProps) {
  const { draft, onChange } = props;
  return (
    <>
      <Select
        label="Protocol"
        data={eras}
        allowDeselect={false}
        value={draft.era}
        onChange={(value) => onChange({ ...draft, era: (value ?? "auto") as ServerDraft["era"] })}
      />
      <Tick {...props} field="alwaysOn" label="Always on" description="Otherwise it starts when a tool of it is used, and stops when it was not used for long." />
      <Tick {...props} field="perConversation" label="One for each conversation" description="For servers that remember what was done in one." />
      <Tick {...props} field="readOnly" label="Only tools that read" description="Offer no tool that does not say it only reads." />
      <Tick {...props} field="cannotSend" label="Sends nothing on" description="You vouch that nothing it is told leaves this machine; then private data may go there unasked." />
    </>
  );
}

const folded = ["env", "headers", "cwd", "certificate", "total"] as const;

/** All fields of a server; what is rarely needed is folded away. */
export function ServerFields({ at, needsNone, ...props }: FieldsProps & Pick<KeyFieldsProps, "at" | "needsNone">) {
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
          required={!draft.bundle}
          readOnly={draft.bundle !== null}
          data-autofocus={at === null || undefined}
          spellCheck={false}
          classNames={{ input: "ph-mono" }}
          value={draft.line}
          error={errors.line}
          onChange={(event) => onChange({ ...draft, line: event.currentTarget.value })}
        />
        {!errors.line && !draft.bundle && <Meaning meant={meant} />}
        {draft.bundle && <p className={classes.quiet}>It came in a bundle. Another version of it is added by dropping that.</p>}
      </div>
      <TextInput
        label="Name"
        placeholder={draft.id ? "" : "Taken from the line above"}
        maxLength={80}
        value={draft.name}
        error={errors.name}
        onChange={(event) => onChange({ ...draft, name: event.currentTarget.value })}
      />
      {/* Of a line that means nothing yet nobody knows which keys there are. */}
      {(isUrl || meant.kind === "command") && <KeyFields {...props} at={at} needsNone={needsNone} />}
      <Unfold isOpen={shows} onToggle={() => setOpen(!shows)}>
        {isUrl ? "Headers, transport, certificate, times" : "Environment, folder, sandbox, times"}
      </Unfold>
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
