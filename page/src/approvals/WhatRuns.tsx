import type { CommandUse, PathUse, ShownChange } from "../api/types";
import { Exactly } from "../calls/Exactly";
import { Given } from "../calls/Given";
import { size } from "../chat/words";
import { DiffView } from "../diff/DiffView";
import { JsonTree } from "../json/JsonTree";
import { CopyButton } from "../shell/CopyButton";
import { seenFrom } from "../shell/paths";
import classes from "./Approvals.module.css";
import type { Asked } from "./asked";
import type { GivenToCall } from "./useGiven";

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

/** A command in full: it wraps, and nothing of it is left out. */
function Command({ command }: { command: CommandUse }) {
  const source = command.text || command.argv.join(" ");
  return (
    <div className={classes.commandBox}>
      {source.length > 1_000 && <div className="ph-label">{`Command, ${size(source.length)}`}</div>}
      <pre className={`ph-code ${classes.command}`} aria-label="Command" data-command>
        {command.text ? <Exactly value={command.text} /> : <Words argv={command.argv} />}
      </pre>
      <span className={classes.copy}>
        <CopyButton value={source} label="Copy the command" />
      </span>
    </div>
  );
}

function PathLine({ use, folder }: { use: PathUse; folder: string | null }) {
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

function Change({ change: { diff = "", path, kind = "", ...counts } }: { change: ShownChange }) {
  const { added, removed } = counts;
  return (
    <DiffView
      diff={diff}
      title={path || "Changes"}
      remark={kind}
      {...(added !== undefined && { added })}
      {...(removed !== undefined && { removed })}
    />
  );
}

/** What a call would change, of one file or of several; a tool may say more than that. */
type Previewed = ShownChange & { changes?: ShownChange[]; memory?: PreviewedMemory };

interface PreviewedMemory {
  title: string;
  text: string;
  scope: string;
  sources: string;
}

/** A memory as it would be kept: all of it, who sees it, and where its words may come from. */
function RememberedText({ memory: { title, text, scope, sources } }: { memory: PreviewedMemory }) {
  return (
    <div>
      <div className="ph-label">{title ? `Memory: ${title}` : "Memory"}</div>
      <pre className={`ph-code ${classes.command}`} aria-label="Memory">
        <Exactly value={text} />
      </pre>
      <p className={classes.fact}>{`Seen ${scope === "everywhere" ? "everywhere" : `in this ${scope}`}. This conversation has read: ${sources}.`}</p>
    </div>
  );
}

/** What a call would change or contain, as far as its tool can say it beforehand. */
function Preview({ preview, path }: { preview: Previewed; path: string }) {
  const { diff, changes = [], memory, ...others } = preview;
  const rest = Object.fromEntries(Object.entries(others).filter(([name, value]) => value !== "" && name !== "path"));
  return (
    <>
      {memory && <RememberedText memory={memory} />}
      {diff && <Change change={{ path, ...preview }} />}
      {changes.map((change, at) => (
        <Change key={at} change={change} />
      ))}
      {Object.keys(rest).length > 0 && !diff && (
        <div>
          <div className="ph-label">What it contains</div>
          <JsonTree value={rest} label="What it contains" />
        </div>
      )}
    </>
  );
}

const hasPreview = ({ preview }: Asked) => Object.keys(preview).length > 0;

/** Tell whether the command or the change says what the call is given, so that its arguments need not. */
const saysAll = (asked: Asked) => asked.command !== null || hasPreview(asked);

interface WhatProps {
  asked: Asked;
  given: GivenToCall;
  folder: string | null;
}

/** Exactly what a call will do: its command, or what it changes; else all it is given. */
export function WhatRuns({ asked, given, folder }: WhatProps) {
  const path = asked.paths[0]?.path ?? "";
  return (
    <>
      {asked.command && <Command command={asked.command} />}
      {hasPreview(asked) && <Preview preview={asked.preview} path={asked.paths[0]?.inside ? seenFrom(folder, path) : path} />}
      {!saysAll(asked) && given.arguments && <Given name={asked.operation} all={given.arguments} />}
    </>
  );
}

/** What else a call touches, and what it is given where the command or the change does not spell that out. */
export function WhatElse({ asked, given, folder }: WhatProps) {
  const { command, paths, destination } = asked;
  return (
    <>
      {command && (
        <p className={classes.fact}>
          {command.folder && (
            <>
              In <code>{command.folder}</code>.{" "}
            </>
          )}
          <span data-look={!command.sandbox || undefined}>{held(command)}</span>
        </p>
      )}
      {paths.length > 0 && (
        <ul className={classes.paths} aria-label="Paths">
          {paths.map((use) => (
            <PathLine key={`${use.effect} ${use.path}`} use={use} folder={folder} />
          ))}
        </ul>
      )}
      {destination && <Sending asked={asked} />}
      {saysAll(asked) && given.arguments && <Given name={asked.operation} all={given.arguments} />}
    </>
  );
}
