import { Exactly } from "../calls/Exactly";
import { Given } from "../calls/Given";
import { record, text } from "../chat/data";
import { Fold } from "../chat/Fold";
import { size } from "../chat/words";
import { DiffView } from "../diff/DiffView";
import { JsonTree } from "../json/JsonTree";
import { CopyButton } from "../shell/CopyButton";
import { seenFrom } from "../shell/paths";
import { useApp } from "../store/store";
import classes from "./Approvals.module.css";
import type { Asked, CommandUse, PathUse } from "./asked";

function held({ sandbox, network }: CommandUse): string {
  if (!sandbox) return "It runs without a sandbox: with all your rights, and with the network.";
  const where = `It runs in a sandbox (${sandbox}): only the working directory can be written to`;
  return network ? `${where}. It has the network.` : `${where}, and there is no network.`;
}

function Words({ argv }: { argv: readonly string[] }) {
  return argv.map((word, at) => (
    <span key={at} className={classes.word}>
      {word === "" ? <mark className={classes.unseen}>empty</mark> : <Exactly value={word} />}
    </span>
  ));
}

/** A command in full: it wraps, and its end is never out of sight. */
function Command({ command }: { command: CommandUse }) {
  const source = command.text || command.argv.join(" ");
  return (
    <div>
      <div className={classes.label}>
        <span>{source.length > 1_000 ? `Command, ${size(source.length)}` : "Command"}</span>
        <CopyButton value={source} label="Copy the command" />
      </div>
      <pre className={classes.command} aria-label="Command">
        {command.text ? <Exactly value={command.text} /> : <Words argv={command.argv} />}
      </pre>
      <p className={classes.fact}>
        {command.folder && (
          <>
            In <code>{command.folder}</code>.{" "}
          </>
        )}
        <span data-look={!command.sandbox || undefined}>{held(command)}</span>
        {command.typed && (
          <span data-look> It is typed at an open terminal: what was typed there before may change what it does.</span>
        )}
      </p>
    </div>
  );
}

function PathLine({ use }: { use: PathUse }) {
  const folder = useApp((state) => state.open?.conversation.settings.workingDirectory ?? null);
  return (
    <li className={classes.path}>
      <span className={classes.effect}>{use.effect === "reads" ? "reads" : "writes"}</span>
      <code>
        <Exactly value={use.inside ? seenFrom(folder, use.path) : use.path} />
      </code>
      <span className={classes.place} data-outside={!use.inside || undefined}>
        {use.inside ? "inside the working directory" : "outside the working directory"}
      </span>
      {use.whole && <span className={classes.whole}>with everything in it</span>}
      {use.protected && <span className={classes.protected}>{use.protected}</span>}
    </li>
  );
}

function Paths({ paths }: { paths: readonly PathUse[] }) {
  return (
    <ul className={classes.paths} aria-label="Paths">
      {paths.map((use) => (
        <PathLine key={`${use.effect} ${use.path}`} use={use} />
      ))}
    </ul>
  );
}

function Sending({ asked }: { asked: Asked }) {
  return (
    <p className={classes.sending}>
      <span className={classes.effect}>sends</span>
      <span>
        {asked.payloadBytes > 0 ? `${size(asked.payloadBytes)} to ` : "to "}
        <code>
          <Exactly value={asked.destination} />
        </code>
        {asked.sentBefore > 0 && `; ${size(asked.sentBefore)} went there before in this run`}
      </span>
    </p>
  );
}

const number = (value: unknown) => (typeof value === "number" ? value : undefined);

function Change({ change }: { change: Record<string, unknown> }) {
  const [added, removed] = [number(change.added), number(change.removed)];
  return (
    <DiffView
      diff={text(change.diff)}
      title={text(change.path) || "Changes"}
      remark={text(change.kind)}
      {...(added !== undefined && { added })}
      {...(removed !== undefined && { removed })}
    />
  );
}

/** What a call would change or contain, as far as its tool can say it beforehand. */
function Preview({ preview, path }: { preview: Record<string, unknown>; path: string }) {
  const changes = Array.isArray(preview.changes) ? preview.changes.map(record) : [];
  const { diff, changes: _, ...others } = preview;
  const rest = Object.fromEntries(Object.entries(others).filter(([name, value]) => value !== "" && name !== "path"));
  return (
    <>
      {text(diff) && <Change change={{ path, ...preview }} />}
      {changes.map((change, at) => (
        <Change key={at} change={change} />
      ))}
      {Object.keys(rest).length > 0 && !text(diff) && (
        <div>
          <div className={classes.label}>What it contains</div>
          <JsonTree value={rest} label="What it contains" />
        </div>
      )}
    </>
  );
}

/** Exactly what a call will do: its command, its paths, what it changes and where it sends; else all it is given. */
export function WhatRuns({ asked }: { asked: Asked }) {
  const call = useApp((state) => state.open?.items.get(asked.callItemId));
  const hasPreview = Object.keys(asked.preview).length > 0;
  const saysAll = asked.command !== null || hasPreview;
  return (
    <div className={classes.what}>
      {asked.command && <Command command={asked.command} />}
      {asked.paths.length > 0 && <Paths paths={asked.paths} />}
      {asked.destination && <Sending asked={asked} />}
      {hasPreview && <Preview preview={asked.preview} path={asked.paths[0]?.path ?? ""} />}
      {call && !saysAll && <Given call={call} />}
      {call && saysAll && <Fold summary="Everything it is given">{() => <Given call={call} />}</Fold>}
    </div>
  );
}
