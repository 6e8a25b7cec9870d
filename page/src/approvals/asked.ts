import type { ApprovalData } from "../api/types";
import { choicesOf } from "../chat/data";
import { size } from "../chat/words";
import { patternOf } from "../policy/pattern";

/** What a question about a call says of it, with everything that it may leave out. */
export type Asked = ReturnType<typeof askedOf>;

/** Return why a call is dangerous; private data that may go out is no less so. */
const dangerOf = ({ dangerous, rule }: ApprovalData) =>
  dangerous || (rule === "tainted" ? "Private data may be on its way out." : "");

/** Read a question about a call, by its `data`. */
export function askedOf(data: ApprovalData) {
  const { callItemId = "", operation, serverTool, tool, server = "", rule = "", group = "", access } = data;
  const { description, modelSays, why, preview, proposal, cure } = data;
  const { paths = [], command, destination = "", payloadBytes = 0, sentBefore = 0, costs = false } = access ?? {};
  const dangerous = dangerOf(data);
  return {
    callItemId,
    operation: operation || serverTool || tool || "a tool",
    server,
    /** What a server says about its tool. */
    description: description ?? "",
    /** What the model wrote before the call. */
    modelSays: (modelSays ?? "").trim(),
    why: why ?? "",
    rule,
    /** Empty when it is not. */
    dangerous,
    /** Shared by calls of the same shape; empty when it stands alone. */
    group: dangerous ? "" : group,
    proposal: patternOf(proposal),
    paths,
    command: command && (command.text || command.argv.length) ? command : null,
    destination,
    payloadBytes,
    sentBefore,
    costs,
    preview: preview ?? {},
    /** What would have spared the question. */
    cure: { allow: cure?.allow ?? [], modes: cure?.modes ?? [] },
    choices: choicesOf({ data }),
  };
}

/** Return what is asked in a line: without why, which has a place of its own, and without a command, which is shown in full. */
export function titleOf({ text: question, data }: { text: string; data: ApprovalData }): string {
  const { why, command } = askedOf(data);
  const asks = why && question.endsWith(why) ? question.slice(0, -why.length).trim() : question;
  if (command) return command.typed ? "Allow this to be typed at an open terminal?" : "Allow this command?";
  const friendly = /^Allow (\S+ .*)\?$/s.exec(asks);
  return friendly?.[1] ? `Allow ${friendly[1][0]?.toLowerCase()}${friendly[1].slice(1)}?` : asks || question;
}

/** Return a sentence as it stands among other words of a line. */
const inLine = (sentence: string) => `${sentence.charAt(0).toLowerCase()}${sentence.slice(1).replace(/\.$/, "")}`;

/** Return where a call sends what it is given; of a command with the network that is said already. */
function sendsTo({ command, destination, payloadBytes, costs }: Asked): string {
  if (!destination || command) return "";
  return `sends ${payloadBytes > 0 ? `${size(payloadBytes)} ` : ""}to ${destination}${costs ? ", may cost money" : ""}`;
}

/** Return what about a call is worth a look before anything else: what leaves, what nothing holds, what lies elsewhere. */
export function risksOf(asked: Asked): string[] {
  const { command, paths, dangerous, rule, why } = asked;
  const held = command && (!command.sandbox ? "no sandbox: all your rights, and the network" : command.network && "with the network");
  const outside = paths.filter(({ inside }) => !inside).length;
  const found = [
    held,
    command?.typed && "typed at an open terminal: what was typed there before may change what it does",
    outside > 0 && "outside the working directory",
    paths.some(({ whole }) => whole) && "with everything in it",
    rule === "leaving" ? inLine(why) : sendsTo(asked),
    // What is dangerous says so itself.
    ...paths.map(({ protected: guarded }) => (dangerous || !guarded ? "" : inLine(guarded))),
  ];
  return found.filter((words) => typeof words === "string" && words !== "") as string[];
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
