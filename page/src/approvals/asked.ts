import type { Item } from "../api/types";
import { choicesOf, record, text } from "../chat/data";
import { patternOf, type Pattern } from "../policy/pattern";

export interface PathUse {
  path: string;
  effect: "reads" | "writes";
  inside: boolean;
  protected: string;
  /** A folder that goes, or comes, with everything that is in it. */
  whole: boolean;
}

export interface CommandUse {
  text: string;
  argv: string[];
  folder: string;
  sandbox: string;
  network: boolean;
  /** Typed at a shell that is open: what was typed there before may change what the words mean. */
  typed: boolean;
}

/** What a question about a call says of it; read without trusting it. */
export interface Asked {
  callItemId: string;
  operation: string;
  server: string;
  /** What a server says about its tool. */
  description: string;
  /** What the model wrote before the call. */
  modelSays: string;
  why: string;
  rule: string;
  /** Why it is dangerous; empty when it is not. */
  dangerous: string;
  /** Shared by calls of the same shape; empty when it stands alone. */
  group: string;
  proposal: Pattern | null;
  paths: PathUse[];
  command: CommandUse | null;
  destination: string;
  payloadBytes: number;
  sentBefore: number;
  preview: Record<string, unknown>;
  choices: ReadonlySet<string>;
}

const number = (value: unknown) => (typeof value === "number" && Number.isFinite(value) ? value : 0);
const list = (value: unknown) => (Array.isArray(value) ? (value as unknown[]) : []);

function pathUse(value: unknown): PathUse {
  const told = record(value);
  return {
    path: text(told.path),
    effect: told.effect === "reads" ? "reads" : "writes",
    inside: told.inside === true,
    protected: text(told.protected),
    whole: told.whole === true,
  };
}

function commandUse(value: unknown): CommandUse | null {
  const told = record(value);
  const argv = list(told.argv).map(text);
  if (!text(told.text) && !argv.length) return null;
  return {
    text: text(told.text),
    argv,
    folder: text(told.folder),
    sandbox: text(told.sandbox),
    network: told.network === true,
    typed: told.typed === true,
  };
}

/** Return why a call is dangerous; private data that may go out is no less so. */
const dangerOf = (data: Record<string, unknown>) =>
  text(data.dangerous) || (data.rule === "tainted" ? "Private data may be on its way out." : "");

/** Read a question about a call, by its `data`. */
export function askedOf(data: Record<string, unknown>): Asked {
  const access = record(data.access);
  return {
    callItemId: text(data.callItemId),
    operation: text(data.operation) || text(data.serverTool) || text(data.tool) || "a tool",
    server: text(data.server),
    description: text(data.description),
    modelSays: text(data.modelSays).trim(),
    why: text(data.why),
    rule: text(data.rule),
    dangerous: dangerOf(data),
    group: dangerOf(data) ? "" : text(data.group),
    proposal: patternOf(data.proposal),
    paths: list(access.paths).map(pathUse),
    command: commandUse(access.command),
    destination: text(access.destination),
    payloadBytes: number(access.payloadBytes),
    sentBefore: number(access.sentBefore),
    preview: record(data.preview),
    choices: new Set(choicesOf({ data }).map((choice) => choice.id)),
  };
}

/** Tell whether an item is a question about a call. */
export const isApproval = (item: Item | undefined): item is Item =>
  item?.kind === "question" && item.data.kind === "approval";

/** Tell whether a question waits for its answer. */
export const isOpen = (item: Item) => item.status === "waiting" || item.status === "streaming";

/** Return what is asked in a line: without why, which has a place of its own, and without a command, which is shown in full. */
export function titleOf({ text: question, data }: Pick<Item, "text" | "data">): string {
  const why = text(data.why);
  const asks = why && question.endsWith(why) ? question.slice(0, -why.length).trim() : question;
  const { command } = askedOf(data);
  if (command) return command.typed ? "Allow this to be typed at an open terminal?" : "Allow this command?";
  const friendly = /^Allow (\S+ .*)\?$/s.exec(asks);
  return friendly ? `Allow this? ${friendly[1]}` : asks || question;
}

/** Return the folder that holds all of these paths, with a slash at its end; empty when there is none. */
export function commonFolder(paths: readonly string[]): string {
  const folders = paths.map((path) => path.split("/").slice(0, -1));
  const [first, ...others] = folders;
  if (!first) return "";
  let depth = 0;
  while (depth < first.length && others.every((other) => other[depth] === first[depth])) depth += 1;
  return depth > 1 ? `${first.slice(0, depth).join("/")}/` : "";
}
