/** What a person typed into the one field: an address, a command, something that is neither, or nothing yet. */
export type Understood =
  | { kind: "empty" }
  | { kind: "bad"; why: string }
  | { kind: "url"; url: string; sentence: string; notes: string[] }
  | { kind: "command"; argv: string[]; sentence: string; notes: string[] };

/** Split a line as a shell would, without being one; null when a quote is not closed. */
export function split(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const sign = line[at] ?? "";
    if (quote) {
      if (sign === quote) quote = "";
      else if (sign === "\\" && quote === '"' && '"\\$`'.includes(line[at + 1] ?? " ")) word = (word ?? "") + line[++at];
      else word = (word ?? "") + sign;
    } else if (sign === "'" || sign === '"') {
      quote = sign;
      word ??= "";
    } else if (sign === "\\") {
      if (at + 1 === line.length) return null;
      word = (word ?? "") + line[++at];
    } else if (/\s/.test(sign)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + sign;
  }
  if (quote) return null;
  return word === null ? words : [...words, word];
}

/** Options of the starters that take the next word with them. */
const taking: Record<string, readonly string[]> = {
  npx: ["-p", "--package", "-c", "--call", "-w", "--workspace"],
  uvx: ["--from", "--with", "-p", "--python", "--index", "--with-editable"],
  docker: [
    ..."-e --env --env-file -v --volume --mount -p --publish --name --network --net -w --workdir -u --user".split(" "),
    ..."--entrypoint -h --hostname --add-host -l --label --cap-add --security-opt --platform -m --memory --cpus".split(" "),
  ],
};
const starters: Record<string, readonly [command: string, what: string]> = {
  npx: ["npx", "npm package"],
  bunx: ["npx", "npm package"],
  pnpx: ["npx", "npm package"],
  uvx: ["uvx", "PyPI package"],
  pipx: ["uvx", "PyPI package"],
  docker: ["docker", "container image"],
  podman: ["docker", "container image"],
};

const baseName = (program: string) => (program.split(/[\\/]/).pop() ?? program).replace(/\.(exe|cmd)$/i, "");

/** Return where the package stands among the words of a starter's command, or -1. */
function packageAt(starter: string, argv: readonly string[]): number {
  let at = argv[1] === "run" ? 2 : 1;
  for (; at < argv.length; at += 1) {
    const word = argv[at] ?? "";
    if (!word.startsWith("-")) return at;
    if (taking[starter]?.includes(word)) at += 1;
  }
  return -1;
}

const counted = (count: number) => (count === 0 ? "no arguments" : count === 1 ? "1 argument" : `${count} arguments`);

function commandSentence(argv: readonly string[]): string {
  const program = argv[0] ?? "";
  const known = starters[baseName(program)];
  const at = known ? packageAt(known[0], argv) : -1;
  if (!known || at < 0) return `The program ${program}, with ${counted(argv.length - 1)}.`;
  return `The ${known[1]} ${argv[at]}, started by ${program}, with ${counted(argv.length - 1 - at)}.`;
}

function commandNotes(argv: readonly string[]): string[] {
  const signs = argv.filter((word) => /^(\||\|\||&|&&|;|>|>>|<|2>&1)$|^\$\(|\$\{?\w/.test(word));
  const notes = signs.length ? [`No shell is used: ${signs.join(" ")} is passed on as it stands.`] : [];
  if (argv.length === 1 && /^[\w-]+(\.[\w-]+)+(:\d+)?\//.test(argv[0] ?? "")) {
    notes.push("If it is meant as an address, begin with https://.");
  }
  return notes;
}

function readUrl(text: string): Understood {
  if (/\s/.test(text) || !URL.canParse(text)) return { kind: "bad", why: "This address cannot be read. Check it for spaces." };
  const { protocol, hostname, username, password } = new URL(text);
  if (username || password) {
    return { kind: "bad", why: "Take the name and password out of the address and put them into a header." };
  }
  const isLocal = /^(localhost|127\.|\[::1\])/.test(hostname);
  const isPlain = protocol === "http:" || protocol === "ws:";
  return {
    kind: "url",
    url: text,
    sentence: protocol.startsWith("ws") ? `The server at ${hostname}, over WebSocket.` : `The server at ${hostname}, over HTTP.`,
    notes: isPlain && !isLocal ? ["The connection is not encrypted; others on the way can read it."] : [],
  };
}

/** Say what a typed line means. */
export function understand(typed: string): Understood {
  const text = typed.trim();
  if (!text) return { kind: "empty" };
  if (/^(https?|wss?):/i.test(text)) return readUrl(text);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    return { kind: "bad", why: "An address begins with http://, https://, ws:// or wss://." };
  }
  if (text.startsWith("{")) return { kind: "bad", why: "This looks like a settings file. Use Import for it." };
  const argv = split(text);
  if (!argv) return { kind: "bad", why: "A quote in this line is not closed." };
  const assigned = /^([A-Za-z_]\w*)=/.exec(argv[0] ?? "");
  if (assigned) {
    return { kind: "bad", why: `The line begins with the program. Put ${assigned[1]} into the environment below.` };
  }
  return { kind: "command", argv, sentence: commandSentence(argv), notes: commandNotes(argv) };
}
