import { describe, expect, it, test } from "vitest";
import { withFix } from "../src/api/client";
import type { ServerTool, ServerView, TrafficMessage } from "../src/api/types";
import { split, understand } from "../src/servers/commandLine";
import { definitionText, difference } from "../src/servers/diff";
import { byTool, columns } from "../src/servers/latencies";
import { check, draftOf, newDraft, newPair, toInput } from "../src/servers/serverDraft";
import { emptied, lacking, namedKey, TOKEN, withFound, type KeyDraft } from "../src/servers/serverKeys";
import { filtered } from "../src/servers/ToolsRoom";
import { fitting, grown, noFilter } from "../src/servers/traffic";
import { visible } from "../src/servers/visible";
import { age, latency, originOf, toneOf, waiting } from "../src/servers/words";
import { parseRoute } from "../src/shell/router";
import { askFor, hear, isAboutServer, merged } from "../src/store/servers";
import { getState } from "../src/store/store";
import { aKey, aServer } from "./records";

describe("a typed line", () => {
  test.each([
    ["npx -y pkg /a", ["npx", "-y", "pkg", "/a"]],
    [`a 'b c' "d \\"e\\" $f" g\\ h`, ["a", "b c", 'd "e" $f', "g h"]],
    ["a '' b", ["a", "", "b"]],
    ["  ", []],
    ["a 'b", null],
    ["a\\", null],
  ])("%s is split as a shell would", (line, words) => expect(split(line)).toEqual(words));

  test.each([
    ["npx -y @scope/server /folder", "The npm package @scope/server, started by npx, with 1 argument."],
    ["uvx --from git+https://x mcp-server-git", "The PyPI package mcp-server-git, started by uvx, with no arguments."],
    ["docker run -i --rm -e KEY ghcr.io/x/y", "The container image ghcr.io/x/y, started by docker, with no arguments."],
    ["/opt/server --stdio -v", "The program /opt/server, with 2 arguments."],
    ["https://mcp.example.com/mcp", "The server at mcp.example.com, over HTTP."],
    ["wss://example.com", "The server at example.com, over WebSocket."],
  ])("%s is understood", (line, sentence) => expect(understand(line)).toMatchObject({ sentence, notes: [] }));

  test.each([
    ["https://user:pw@example.com", "password"],
    ["ftp://example.com", "begins with"],
    ['{"mcpServers": {}}', "Import"],
    ["KEY=1 npx x", "KEY"],
    ["npx 'x", "quote"],
  ])("%s is told what is wrong with it", (line, part) => {
    const meant = understand(line);
    expect(meant.kind === "bad" && meant.why).toContain(part);
  });

  it("says that no shell is used, and that a connection is not encrypted", () => {
    expect(understand("a | b")).toMatchObject({ notes: [expect.stringContaining("No shell")] });
    expect(understand("http://example.com")).toMatchObject({ notes: [expect.stringContaining("not encrypted")] });
    expect(understand("http://127.0.0.1:3000/mcp")).toMatchObject({ notes: [] });
    expect(understand("example.com/mcp")).toMatchObject({ notes: [expect.stringContaining("https://")] });
  });
});

describe("the form of a server", () => {
  it("keeps the bundle that a server came in", () => {
    const settings = { args: ["${__dirname}/main.py"] };
    const server = aServer({ package: { type: "mcpb", identifier: "ab12", runtimeHint: "python3" }, settings, address: "Harbour log" });
    const input = toInput(draftOf(server));
    expect(input).toMatchObject({ bundle: "ab12", command: "python3", args: settings.args });
    expect(input.commandLine).toBeUndefined();
  });

  it("keeps secrets that were not touched, and what it does not show", () => {
    const settings = {
      env: { TOKEN: "secret:mcp_1_TOKEN", MODE: "fast" },
      offTools: ["write"],
      roots: ["/a"],
      alwaysOn: true,
      times: { total: 5 },
    };
    const keys = [aKey({ id: "env:TOKEN", label: "Token", source: "pasted" })];
    const input = toInput(draftOf(aServer({ settings, keys, address: "npx -y server-files '/my folder'" })));
    expect(input).toMatchObject({
      commandLine: "npx -y server-files '/my folder'",
      keys: { "env:TOKEN": null },
      plainEnv: { MODE: "fast" },
      offTools: ["write"],
      roots: ["/a"],
      alwaysOn: true,
      times: { total: 5 },
    });
    expect(input.url).toBeUndefined();
  });

  it("puts a command into a sandbox, and says nothing of one for an address", () => {
    const draft = draftOf(aServer({ settings: { sandbox: true, network: false }, address: "npx -y server" }));
    expect(toInput(draft)).toMatchObject({ sandbox: true, network: false });
    expect(toInput({ ...draft, sandbox: false })).toMatchObject({ sandbox: false, network: true });
    expect(toInput({ ...draft, line: "https://mcp.example.com/mcp" }).sandbox).toBeUndefined();
    expect(newDraft()).toMatchObject({ sandbox: false, network: true });
  });

  it("keeps, replaces and removes a token", { tags: ["AUT-06"] }, () => {
    const settings = { url: "https://x.example/mcp", headers: { Authorization: "secret:t", "X-Team": "a" } };
    const draft = draftOf(aServer({ transport: "http", settings, keys: [aKey({ id: TOKEN, label: "Token", source: "pasted" })] }));
    expect(draft.headers.map(({ name }) => name)).toEqual(["X-Team"]);
    expect(toInput(draft)).toMatchObject({
      url: "https://x.example/mcp",
      keys: { [TOKEN]: null },
      plainHeaders: { "X-Team": "a" },
    });
    const token = draft.keys[0]!;
    const sent = (fields: Partial<KeyDraft>) => toInput({ ...draft, keys: [{ ...token, ...fields }] }).keys;
    expect(sent({ typed: { ...token.typed, paste: " new " } })).toEqual({ [TOKEN]: { value: "new" } });
    expect(sent({ from: "file", typed: { ...token.typed, file: "~/token" } })).toEqual({ [TOKEN]: { file: "~/token" } });
    expect(sent(emptied(token))).toEqual({});
    expect(sent({ from: "sign-in" })).toEqual({});
  });

  it("keeps a file and a variable as they are, and gives what is chosen instead", () => {
    const keys = [
      aKey({ source: "file", path: "~/.github_token" }),
      aKey({ id: "env:SLACK", label: "Slack", source: "environment", variable: "MY_SLACK" }),
      aKey({ id: "env:NONE", label: "None" }),
    ];
    const draft = draftOf(aServer({ keys }));
    expect(draft.keys.map(({ from, typed }) => from !== "sign-in" && typed[from])).toEqual(["~/.github_token", "MY_SLACK", "", ""]);
    expect(toInput(draft).keys).toEqual({ "env:GITHUB_TOKEN": null, "env:SLACK": null });
    const [github, ...others] = draft.keys;
    const pasted = { ...github!, from: "paste" as const, typed: { ...github!.typed, paste: "ghp" } };
    expect(toInput({ ...draft, keys: [pasted, ...others] }).keys).toEqual({ "env:GITHUB_TOKEN": { value: "ghp" }, "env:SLACK": null });
    const empty = { ...github!, from: "paste" as const };
    expect(toInput({ ...draft, keys: [empty] }).keys).toEqual({});
  });

  it("sends the keys of a command to no address, and the token to no command", () => {
    const draft = { ...newDraft(), line: "npx x", keys: [...draftOf(aServer({ keys: [aKey()] })).keys, namedKey("MINE", "1")] };
    const filled = draft.keys.map((key) => ({ ...key, typed: { ...key.typed, paste: "1" } }));
    expect(Object.keys(toInput({ ...draft, keys: filled }).keys!)).toEqual(["env:GITHUB_TOKEN", "env:MINE"]);
    const remote = toInput({ ...draft, line: "https://x.example", keys: filled });
    expect(Object.keys(remote.keys!)).toEqual([TOKEN, "header:MINE"]);
  });

  it("takes up what a check says it lacks, once, and keeps what was typed", { tags: ["AUT-10"] }, () => {
    const typed = namedKey("SLACK", "xoxb");
    const found = [aKey({ about: "GITHUB_TOKEN is required" }), aKey({ id: "env:SLACK" }), aKey({ id: "env:A", source: "pasted" })];
    const once = withFound([typed], found);
    expect(once.map(({ name, label }) => name || label)).toEqual(["SLACK", "GitHub token"]);
    expect(once[1]?.about).toBe("GITHUB_TOKEN is required");
    const twice = withFound(once, [aKey({ about: "No token." })]);
    expect(twice.map(({ about }) => about)).toEqual(["", "No token."]);
  });

  it.each([
    ["file", "token.txt", "whole path"],
    ["environment", "MY TOKEN", "name of a variable"],
    ["paste", "two words", "no spaces"],
  ] as const)("says what is wrong with a key: %s", (from, value, part) => {
    const draft = { ...newDraft(), line: "https://x.example" };
    const token = draft.keys[0]!;
    const keys = [{ ...token, from, typed: { ...token.typed, [from]: value } }];
    expect(check({ ...draft, keys })[`key ${token.row}`]).toContain(part);
    expect(check(draft)).toEqual({});
  });

  it("says what is wrong with a key that its person names", () => {
    const draft = { ...newDraft(), line: "npx x" };
    const said = (...keys: KeyDraft[]) => Object.values(check({ ...draft, keys })).join(" ");
    expect(said(namedKey())).toBe("");
    expect(said(namedKey("", "1"))).toContain("a name");
    expect(said(namedKey("A-B", "1"))).toContain("A-B");
    expect(said(namedKey("A"))).toContain("a value");
    expect(said(namedKey("A", "1"), namedKey("A", "2"))).toContain("twice");
  });

  it("names the keys that a server in use lacks", () => {
    const keys = [aKey(), aKey({ id: "env:B", source: "file" })];
    expect(lacking(aServer({ state: "error", keys }))).toEqual([keys[0]]);
    expect(lacking(aServer({ state: "disabled", keys }))).toEqual([]);
  });

  it("keeps, checks and drops the certificate that is trusted", () => {
    const settings = { url: "https://x.example/mcp", trustedCertificate: "ab".repeat(32) };
    const draft = draftOf(aServer({ transport: "http", settings }));
    expect(toInput(draft).trustedCertificate).toBe("ab".repeat(32));
    expect(toInput({ ...draft, certificate: " " }).trustedCertificate).toBeNull();
    expect(check({ ...draft, certificate: `SHA256:${"AB:".repeat(31)}AB` })).toEqual({});
    expect(check({ ...draft, certificate: "abc" }).certificate).toContain("64 digits");
  });

  it("checks before anything is sent, a sentence for each field", () => {
    const draft = {
      ...newDraft(),
      line: "npx x",
      cwd: "relative",
      env: [newPair({ name: "A-B", value: "1" })],
      total: 100_000,
    } as const;
    expect(Object.keys(check({ ...draft, env: [...draft.env] }))).toEqual(["env", "cwd", "total"]);
    expect(check({ ...newDraft(), line: "" }).line).toBe("Write a command or an address.");
    expect(check({ ...newDraft(), line: "npx x", env: [newPair(), newPair({ name: "A", value: "1" })] })).toEqual({});
    expect(check({ ...newDraft(), line: "npx x", env: [newPair({ name: "A" })] }).env).toContain("value");
    const twice = [newPair({ name: "X", value: "1" }), newPair({ name: "x", value: "2" })];
    expect(check({ ...newDraft(), line: "https://x.example", headers: twice }).headers).toContain("twice");
    expect(check({ ...draftOf(aServer()), name: " " }).name).toBe("Give the server a name.");
  });
});

describe("what cannot be seen", () => {
  const spelled = (text: string) => visible(text).map((piece) => (piece.escaped ? `[${piece.text}]` : piece.text)).join("");
  test.each([
    ["plain text", "plain text"],
    ["a\nb\tc", "a[\\n]b[\\t]c"],
    ["a\u202eb", "a[\\u{202e}]b"],
    ["a\u200bb\u{e0041}", "a[\\u{200b}]b[\\u{e0041}]"],
    [`x${" ".repeat(4000)}; curl`, "x[␣×4000]; curl"],
    ["\u001b[2J", "[\\u{001b}][2J"],
    ["日本 é 🚢", "日本 é 🚢"],
  ])("is spelled out", (text, shown) => expect(spelled(text)).toBe(shown));
});

test("prose keeps its lines, indents and emoji, and nothing else that is not seen", () => {
  const prose = (text: string) => visible(text, true).map((piece) => (piece.escaped ? `[${piece.text}]` : piece.text)).join("");
  expect(prose("a\n    b 👩‍🚀")).toBe("a\n    b 👩‍🚀");
  expect(prose(`a${" ".repeat(80)}b\u{e0041}\u202e`)).toBe("a[␣×80]b[\\u{e0041}][\\u{202e}]");
});

describe("a changed tool", () => {
  it("shows the lines that went and came, with a little around them", () => {
    const before = ["a", "b", "c", "d", "e", "f", "g"].join("\n");
    const now = ["a", "b", "c", "d", "X", "f", "g"].join("\n");
    expect(difference(before, now).map((line) => (line ? line.kind[0] + line.text : "…"))).toEqual(
      ["…", "sc", "sd", "ge", "nX", "sf", "sg"],
    );
    expect(difference(before, before)).toEqual([null]);
  });

  it("is compared in one order, and a long text line by line", () => {
    const one = definitionText({ name: "t", description: "a\nb", inputSchema: { b: 1, a: 2 } });
    expect(one).toBe(definitionText({ inputSchema: { a: 2, b: 1 }, name: "t", description: "a\nb" }));
    expect(difference(one, one.replace('"b"', '"c"')).filter((line) => line?.kind === "new")).toHaveLength(1);
  });
});

describe("calls over time", () => {
  const call = (tool: string, at: number, seconds: number, ok = true) => ({ tool, at, seconds, ok });
  const calls = [call("a", 2, 0.2), call("b", 1, 1, false), call("a", 3, 0.4), call("a", 4, 0.1)];
  it("are gathered by tool", () => {
    expect(byTool(calls)).toMatchObject([
      { tool: "a", calls: 3, failures: 0, median: 0.2, slow: 0.4, last: { at: 4 } },
      { tool: "b", calls: 1, failures: 1, median: 1 },
    ]);
  });
  it("become columns with a gap where another tool was called", () => {
    expect(columns(calls, ["a", "b"])).toEqual([
      [1, 2, 3, 4],
      [null, 200, 400, 100],
      [1000, null, null, null],
    ]);
  });
});

describe("words", () => {
  it("name a state's colour as the list shows it", () => {
    expect(["connected", "connecting", "error", "disabled", "idle"].map((state) => toneOf(state as never))).toEqual(
      ["good", "busy", "bad", "off", "idle"],
    );
  });
  it("tell ages, times and what waits", () => {
    expect([age(5), age(125), age(12_000), age(200_000)]).toEqual(["5 s", "2 min", "3 h 20 min", "2 days"]);
    expect([latency(0.0004), latency(0.038), latency(1.2)]).toEqual(["0.4 ms", "38 ms", "1.20 s"]);
    expect(waiting(aServer({ changedTools: 2, quarantinedTools: 1 }))).toBe("2 changed, 1 quarantined");
    const change = { fingerprint: "f", changes: [], approved: {}, now: { instructions: "x" }, refused: false };
    expect(waiting(aServer({ aboutChange: change }))).toBe("new words");
    expect(waiting(aServer({ aboutChange: { ...change, refused: true } }))).toBe("");
    expect(originOf(aServer({ source: { type: "manual", importedFrom: "Cursor" } }))).toBe("Imported from Cursor");
  });
});

describe("the state", () => {
  it("keeps servers that did not change, so that their rows are not drawn again", () => {
    const before = { servers: [aServer(), aServer({ id: "s_2" })], problem: null };
    const now = merged(before, { servers: [aServer(), aServer({ id: "s_2", state: "error" })], problem: null });
    expect(now.servers[0]).toBe(before.servers[0]);
    expect(now.servers[1]?.state).toBe("error");
  });
  it("keeps what the socket told while an older answer was on its way", async () => {
    const list = (state: ServerView["state"]) => ({ servers: [aServer({ state })], problem: null });
    let arrive: (answer: ReturnType<typeof list>) => void = () => undefined;
    const asking = askFor(new Promise<ReturnType<typeof list>>((resolve) => (arrive = resolve)), (answer) => answer);
    hear(list("error"));
    arrive(list("connecting"));
    await asking;
    expect(getState().servers.servers[0]?.state).toBe("error");
    await askFor(Promise.resolve(list("idle")), (answer) => answer);
    expect(getState().servers.servers[0]?.state).toBe("idle");
  });
  it("knows notices about one server from those about the whole", () => {
    const notice = (code: string) => ({ level: "warning" as const, code, message: "" });
    expect([isAboutServer(notice("server:s_1")), isAboutServer(notice("disk_full"))]).toEqual([true, false]);
  });
  it("has an address for each room", () => {
    expect(parseRoute("/tools")).toEqual({ page: "room", room: "tools" });
    expect(parseRoute("/traffic/more")).toMatchObject({ page: "chat" });
  });
});

test("tools are found by every word, in one server or in all", { tags: ["STA-06"] }, () => {
  const tool = (serverId: string, qualifiedName: string, description = "") =>
    ({ serverId, qualifiedName, title: "", description }) as ServerTool;
  const tools = [tool("s_1", "files.read", "Read a file"), tool("s_1", "files.write"), tool("s_2", "git.log")];
  expect(filtered(tools, "FILE read", null).map((one) => one.qualifiedName)).toEqual(["files.read"]);
  expect(filtered(tools, "", "s_2")).toHaveLength(1);
});

test("messages are kept once, in order, and found by server, direction, kind and text", () => {
  const message = (seq: number, fields: Partial<TrafficMessage> = {}) =>
    ({ seq, serverId: "s_1", direction: "out", kind: "request", method: "ping", id: "1", text: "{}", ...fields }) as TrafficMessage;
  const kept = grown(grown([], [message(1), message(2, { direction: "in", kind: "response" })]), [message(2), message(3, { text: "needle" })]);
  expect(kept.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  expect(grown(kept, [])).toBe(kept);
  expect(fitting(kept, { ...noFilter, direction: "in" })).toHaveLength(1);
  expect(fitting(kept, { ...noFilter, text: "NEEDLE" })).toHaveLength(1);
  expect(fitting(kept, { ...noFilter, serverId: "s_2" })).toHaveLength(0);
  expect(fitting(kept, { ...noFilter, kind: "response" })).toHaveLength(1);
});

test.each([
  ["No database", "Start it.", "No database. Start it."],
  ["It is gone.", "Start it.", "It is gone. Start it."],
  ["It wrote “what?”", "Start it.", "It wrote “what?” Start it."],
  ["No database", "", "No database"],
])("%s and what to do about it are two sentences", (message, fix, words) => expect(withFix(message, fix)).toBe(words));
