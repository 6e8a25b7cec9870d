import { describe, expect, it, test } from "vitest";
import type { FoundServer, OtherFile, Proposal, ProposalField, Recognised } from "../src/api/types";
import { choicesOf, dateWords, entered, isWords, moved, usesWords, wordsOf } from "../src/finding/asked";
import { hostsIn } from "../src/finding/nearby";
import { errorsOf, fieldsOf, newProposalDraft } from "../src/finding/proposalDraft";
import { chooseFile, chooseServer, joinedQuestions, requestsOf } from "../src/servers/importing";
import { TOKEN } from "../src/servers/serverKeys";

const aField = (fields: Partial<ProposalField>): ProposalField => ({
  id: "env:TOKEN",
  label: "Token",
  schema: { type: "string" },
  secret: false,
  required: false,
  about: "",
  link: "",
  ...fields,
});

const aProposal = (fields: Partial<Proposal> = {}): Proposal => ({
  name: "Tides",
  kind: "npm",
  runs: "npm tides 1.0.0",
  server: { commandLine: "npx -y tides@1.0.0" },
  source: { type: "official", name: "io.github.harbour/tides", version: "1.0.0" },
  fields: [],
  authType: "none",
  description: "",
  warnings: [],
  notes: [],
  problem: "",
  ...fields,
});

const aFound = (name: string): FoundServer => ({
  registries: ["official"],
  name,
  title: name,
  description: "",
  version: "",
  verified: false,
  uses: null,
  updatedAt: "",
  status: "active",
  statusNote: "",
  licence: "",
  runs: [],
  warnings: [],
});

const understood = (fields: Partial<Recognised>, file = "") => ({ recognised: { what: "", proposals: [], words: "", ...fields }, file });
const found = (...names: string[]) => ({ servers: names.map(aFound), total: names.length, notes: [], keyWanted: [] });

describe("the box", () => {
  test.each([
    ["github", true],
    ["tide tables", true],
    ["mcp-server-time", true],
    ["Gezeiten für Häfen", true],
    ["@scope/server", false],
    ["npx -y pkg", false],
    ["uvx mcp-server-time", false],
    ["https://example.com/mcp", false],
    ['{"mcpServers": {}}', false],
    ["ghcr.io/x/y", false],
    ["", false],
  ])("%s is words: %s", (text, is) => expect(isWords(text)).toBe(is));

  it("searches for words at once, and for what else is left to search for once that is known", () => {
    expect(wordsOf(" tide tables ", null)).toBe("tide tables");
    expect(wordsOf("t", null)).toBe("");
    expect(wordsOf("https://host/owner/tides", null)).toBe("");
    expect(wordsOf("harbour serve", understood({ proposals: [aProposal()] }))).toBe("");
    expect(wordsOf("https://host/owner/tides", understood({ words: "tides" }))).toBe("tides");
  });

  it("keeps results where they are when a package of that name comes later", () => {
    const named = understood({ proposals: [aProposal()] });
    expect(choicesOf("tides", named, found("a", "b")).map(({ id }) => id)).toEqual(["found-0", "found-1", "proposal-0"]);
    expect(choicesOf("@x/tides", named, found("a")).map(({ id }) => id)).toEqual(["proposal-0", "found-0"]);
    expect(choicesOf("tides", understood({ proposals: [aProposal()] }, "tides.mcpb"), null)).toHaveLength(1);
  });

  it("chooses by Enter what was moved to, or the only one that can be had", () => {
    const two = choicesOf("x", null, found("a", "b"));
    expect(entered(two, -1)).toBeNull();
    expect(entered(two, 1)).toBe(two[1]);
    expect(entered([], -1)).toBeNull();
    const refused = aProposal({ server: null, problem: "It cannot be had." });
    const one = choicesOf("{", understood({ proposals: [refused, aProposal()] }), null);
    expect(entered(one, -1)).toBe(one[1]);
    expect(entered(one, 0)).toBeNull();
  });

  it("moves within the results, and back into the box", () => {
    expect(moved("ArrowDown", -1, 3)).toBe(0);
    expect(moved("ArrowDown", 2, 3)).toBe(2);
    expect(moved("ArrowUp", 0, 3)).toBe(-1);
    expect(moved("PageDown", 0, 3)).toBe(2);
    expect(moved("x", 0, 3)).toBeNull();
  });

  it("says how often and since when in a few signs", () => {
    expect([usesWords(12_431), usesWords(1), usesWords(null)]).toEqual(["12.4K uses", "1 use", ""]);
    expect(dateWords("no date")).toBe("");
    expect(dateWords("2026-10-03T10:00:00Z")).toContain("2026");
  });
});

describe("what is filled in", () => {
  const folders = aField({ id: "folders", label: "Folders", required: true, schema: { type: "array", items: { type: "string" } } });

  it("begins with a row for a list that must not stay empty, and asks for what is needed", () => {
    const proposal = aProposal({ fields: [aField({ secret: true, required: true }), folders] });
    const draft = newProposalDraft(proposal);
    expect(draft.values).toEqual({ folders: [""] });
    const errors = errorsOf(proposal, draft);
    expect(Object.values(errors?.keys ?? {})).toEqual(["This is needed."]);
    expect(errors?.values).toEqual({ "folders/0": "This is needed." });
    const key = draft.keys[0];
    const given = { ...draft, keys: key ? [{ ...key, typed: { ...key.typed, paste: "x" } }] : [], values: { folders: ["/a"] } };
    expect(errorsOf(proposal, given)).toBeNull();
  });

  it("calls fields by their labels, and leaves keys to the fields of keys", () => {
    const fields = fieldsOf(aProposal({ fields: [folders, aField({ id: "env:KEY", secret: true })] })).fields;
    expect(fields.map(({ label, kind }) => [label, kind])).toEqual([["Folders", "list"]]);
  });

  it("offers a token to an address that nobody described, and to no other", () => {
    const ids = (proposal: Proposal) => newProposalDraft(proposal).keys.map(({ id }) => id);
    expect(ids(aProposal({ kind: "http", source: { type: "manual" } }))).toEqual([TOKEN]);
    expect(ids(aProposal({ kind: "http" }))).toEqual([]);
    expect(ids(aProposal({ kind: "command", source: { type: "manual" } }))).toEqual([]);
  });
});

describe("servers of other programs", () => {
  const file = (path: string, ...servers: string[]): OtherFile => ({ program: "Cursor", path, servers, problem: "" });

  it("are chosen one by one or by their file", () => {
    const files = [file("/a", "x", "y"), file("/b", "z")];
    let chosen = chooseFile(new Map(), file("/a", "x", "y"), true);
    chosen = chooseServer(chosen, "/a", "x", false);
    expect(requestsOf(files, chosen, "", "")).toEqual([{ file: "/a", only: ["y"], origin: "Cursor" }]);
    expect(requestsOf(files, new Map(), " {} ", "mine.json")).toEqual([{ text: " {} ", origin: "mine.json" }]);
    expect(requestsOf(files, new Map(), " ", "")).toEqual([]);
  });

  it("ask each question once, for all who need its answer", () => {
    const question = (servers: string[]) => ({ id: "env:T", label: "T", secret: true, options: [], default: "", isSet: false, servers });
    expect(joinedQuestions([[question(["a"])], [question(["b", "a"])]])).toEqual([question(["a", "b"])]);
  });
});

test("machines are named in any way people write lists", () => {
  expect(hostsIn(" nas.local, 192.0.2.7:8080;box\nnas.local ")).toEqual(["nas.local", "192.0.2.7:8080", "box"]);
});
