import { describe, expect, it } from "vitest";
import { groupTitle } from "../src/approvals/ApprovalGroup";
import { askedOf, commonFolder, titleOf } from "../src/approvals/asked";
import { denied, forAWhile, inTime, secondsOf } from "../src/approvals/choices";
import { decided, endings } from "../src/approvals/settled";
import { decisionOf } from "../src/calls/decision";
import { rowsOf } from "../src/chat/rows";
import { autoApproveEnd, modeAt, modeOf } from "../src/policy/modes";
import { anything, breadth, covering, inWords, patternOf, typed, words } from "../src/policy/pattern";
import { seenFrom } from "../src/shell/paths";
import { anItem } from "./records";

const approval = (data: Record<string, unknown> = {}, fields: Parameters<typeof anItem>[0] = {}) =>
  anItem({ kind: "question", status: "waiting", text: "Allow it?", data: { kind: "approval", ...data }, ...fields });

describe("a question about a call", () => {
  it("is read without trusting it", () => {
    const asked = askedOf({ access: { paths: [{ path: 3 }, "x"], command: { text: "", argv: [] }, payloadBytes: "9" }, choices: 1 });
    expect(asked.paths.map(({ path, inside }) => [path, inside])).toEqual([["", false], ["", false]]);
    expect([asked.command, asked.payloadBytes, asked.choices.size, asked.proposal]).toEqual([null, 0, 0, null]);
  });

  it("says of a folder that everything in it goes along, and of a command that it is typed at an open terminal", () => {
    const access = {
      paths: [{ path: "/w/src", effect: "writes", inside: true, whole: true }, { path: "/w/a", effect: "writes" }],
      command: { text: "make clean", typed: true },
    };
    const { paths, command } = askedOf({ access });
    expect([paths.map(({ whole }) => whole), command?.typed]).toEqual([[true, false], true]);
    expect(askedOf({ access: { command: { text: "ls", typed: "yes" }, paths: [{ whole: 1 }] } })).toMatchObject({
      command: { typed: false },
      paths: [{ whole: false }],
    });
    expect(titleOf({ text: "Allow Typing?", data: { access } })).toBe("Allow this to be typed at an open terminal?");
  });

  it("that is dangerous stands alone whatever it says of its shape", () => {
    expect(askedOf({ group: "g", dangerous: "It deletes everything." }).group).toBe("");
    expect(askedOf({ group: "g" }).group).toBe("g");
  });
});

describe("the title of a card", () => {
  it("is the question without why and without the command", () => {
    const title = (text: string, data = {}) => titleOf({ text, data: { why: "It writes.", ...data } });
    expect(title("Allow Editing file: a.py? It writes.")).toBe("Allow this? Editing file: a.py");
    expect(title("Allow harbour.send_message? It writes.")).toBe("Allow harbour.send_message?");
    expect(title("Allow Running: ls? It writes.", { access: { command: { text: "ls" } } })).toBe("Allow this command?");
    expect(titleOf({ text: "It writes.", data: { why: "It writes." } })).toBe("It writes.");
  });
});

describe("questions of the same shape", () => {
  const items = (...made: ReturnType<typeof approval>[]) => new Map(made.map((item) => [item.id, item]));
  const rows = (...made: ReturnType<typeof approval>[]) =>
    rowsOf(made.map(({ id }) => id), items(...made), new Map()).map((row) => ("itemIds" in row ? row.itemIds : row.key));

  it("share a line, also when others were asked between them", () => {
    const [a, b, c] = ["a", "b", "c"].map((id, at) => approval({ group: at === 1 ? "y" : "x" }, { id }));
    expect(rows(a!, b!, c!)).toEqual([["a", "c"], ["b"]]);
  });

  it("do not when they are dangerous, of another run, or asked later", () => {
    expect(rows(approval({ group: "x", dangerous: "Look." }, { id: "a" }), approval({ group: "x" }, { id: "b" }))).toEqual([["a"], ["b"]]);
    expect(rows(approval({ group: "x" }, { id: "a" }), approval({ group: "x" }, { id: "b", runId: "r_2" }))).toEqual([["a"], ["b"]]);
    const later = [approval({ group: "x" }, { id: "a" }), anItem({ id: "said" }), approval({ group: "x" }, { id: "b" })];
    expect(rows(...later)).toEqual([["a"], "said", ["b"]]);
  });

  it("are named by what they do and where", () => {
    const asked = (path: string) => askedOf({ operation: "file_operations.create_file", access: { paths: [{ path, inside: true }] } });
    expect(groupTitle([asked("/w/src/a.ts"), asked("/w/src/b.ts")], "/w")).toBe("2 calls of file_operations.create_file in src/");
    expect(groupTitle([asked("/w/a.ts"), asked("/w/src/b.ts")], "/w")).toBe(
      "2 calls of file_operations.create_file in the working directory",
    );
    expect(groupTitle([asked("/etc/a"), asked("/var/b")], null)).toBe("2 calls of file_operations.create_file");
  });

  it("are seen from the working directory by whole components", () => {
    expect(seenFrom("/srv/conv-1", "/srv/conv-1-other/a")).toBe("/srv/conv-1-other/a");
    expect(seenFrom("/srv/conv-1/", "/srv/conv-1/a")).toBe("a");
    expect(commonFolder(["/a/bc/d", "/a/bd/e"])).toBe("/a/");
  });
});

describe("an answer", () => {
  const ended = (answer: object, fields: Parameters<typeof anItem>[0] = {}) =>
    decided(approval({ operation: "files.read", answer }, { status: "completed", updatedAt: 1_000, ...fields }));

  it("is told in one line: who, what, until when, why not", () => {
    expect(ended({ choice: "allow" })).toBe("You allowed files.read once.");
    expect(ended({ choice: "allow", by: "Ada" })).toBe("Ada allowed files.read once.");
    const clock = new Date(1_300_000).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
    expect(ended({ choice: "conversation", content: { duration: "5m" } })).toBe(
      `You allowed files.read in this conversation for 5 minutes, until ${clock}.`,
    );
    expect(ended({ choice: "conversation" })).toBe("You allowed files.read in this conversation.");
    expect(ended({ choice: "always", content: { pattern: { tool: "files.*" } } })).toBe(
      "You always allowed every operation of files.",
    );
    expect(ended({ choice: "deny", text: "Not there." })).toBe("You did not allow files.read: Not there.");
    expect(ended({}, { status: "cancelled" })).toBe("Allow it? This was not answered.");
  });

  it("to several questions is one line", () => {
    const one = (id: string, choice: string) =>
      approval({ operation: "files.read", answer: { choice } }, { id, status: "completed" });
    expect(endings([one("a", "allow"), one("b", "deny"), one("c", "allow")])).toEqual([
      "You allowed 2 calls of files.read once.",
      "You did not allow files.read.",
    ]);
  });

  it("carries a duration or a reason only where there is one", () => {
    expect(forAWhile("15m", null)).toEqual({ choice: "conversation", content: { duration: "15m" } });
    expect(denied("  ")).toEqual({ choice: "deny" });
    expect(denied(" no ")).toEqual({ choice: "deny", text: "no" });
    expect([inTime("1h"), inTime("90s"), secondsOf("1h 30m"), secondsOf("soon")]).toEqual(["1 hour", "90s", 5_400, null]);
  });
});

describe("a pattern", () => {
  it("is told in words", () => {
    expect(inWords({ ...anything, tool: "file_operations.create_file", paths: ["src/**"] })).toBe(
      "file_operations.create_file, only on anything in src/",
    );
    expect(inWords({ ...anything, tool: "terminal_operations.run_command", command: ["git", "status"] })).toBe(
      "terminal_operations.run_command, only the command “git status”, exactly",
    );
    expect(inWords({ ...anything, command: ["npm", "run", "*"], folder: "/w" })).toBe(
      "every tool, only “npm run” with any further words that are not options, only in /w",
    );
    expect(inWords({ ...anything, destination: "*.example.com", definition: "abc" })).toBe(
      "every tool, only to hosts under example.com, only as the tool is defined now",
    );
  });

  it("that is wider than people mean is said to be", () => {
    expect(breadth(anything)).toContain("every call of every tool");
    expect(breadth({ ...anything, tool: "git.*" })).toContain("anywhere");
    expect(breadth({ ...anything, tool: "*", command: ["*"] })).toContain("any command");
    expect(breadth({ ...anything, tool: "git.commit", paths: ["src/**"] })).toBe("");
  });

  it("covers several calls by naming what each of them touches", () => {
    const on = (path: string) => ({ ...anything, tool: "files.write", paths: [path] });
    expect(covering([on("a"), on("b"), on("a")])?.paths).toEqual(["a", "b"]);
    expect(covering([on("a"), { ...on("a"), tool: "files.read" }])).toBeNull();
    expect(covering([on("a"), { ...anything, tool: "files.write" }])).toBeNull();
    expect(covering([])).toBeNull();
  });

  it("keeps the words of a command as they are typed", () => {
    expect(words(`git commit -m "two words" 'and more'`)).toEqual(["git", "commit", "-m", "two words", "and more"]);
    expect(words(typed(["a b", 'quo"te', "plain"]))).toEqual(["a b", 'quo"te', "plain"]);
  });

  it("is read without trusting it", () => {
    expect(patternOf({})).toBeNull();
    expect(patternOf({ tool: 3, paths: ["a", 4] })).toEqual({ ...anything, paths: ["a"] });
  });
});

describe("a mode", () => {
  it("that asks nothing ends by itself", () => {
    const on = { mode: "auto_approve", modeSince: 1_000 } as const;
    expect([modeAt(on, 2_000), modeAt(on, 1_000 + 8 * 3_600)]).toEqual(["auto_approve", "ask"]);
    expect(modeAt({ mode: "auto_approve", modeSince: 0 }, 5e9)).toBe("auto_approve");
    expect(autoApproveEnd({ mode: "ask", modeSince: 1_000 })).toBeNull();
    expect(modeOf("anything")).toBe("ask");
  });
});

describe("a decision", () => {
  const decided = (decision: object) => decisionOf(anItem({ data: { decision } }));

  it("is told by whose word it rests on", () => {
    expect(decisionOf(anItem())).toBe("");
    expect(decided({ verdict: "allow", authority: "person", why: "The person allowed it." })).toBe("Allowed by you.");
    expect(decided({ verdict: "allow", authority: "mode", rule: "auto_edit", why: "Changes go through." })).toBe(
      "Allowed by the mode Auto-edit. Changes go through.",
    );
    expect(decided({ verdict: "deny", authority: "rule", rule: "r1", why: "Taxes are private." })).toBe(
      "Refused by a rule. Taxes are private.",
    );
    expect(decided({ verdict: "allow", authority: "grant", why: "x" })).toBe("Allowed by you for a while.");
    expect(decided({ verdict: "allow", authority: "harmless", why: "It touches nothing." })).toBe("Allowed. It touches nothing.");
  });

  it("by a permission for a while says until when it held", () => {
    const call = anItem({ data: { access: { operation: "files.write" }, decision: { verdict: "allow", authority: "grant", at: 200 } } });
    const given = (tool: string, at: number, duration = "5m") =>
      approval(
        { answer: { choice: "conversation", at, content: { duration, pattern: { tool } } } },
        { status: "completed" },
      );
    const until = (seconds: number) => new Date(seconds * 1000).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
    expect(decisionOf(call, [given("files.*", 100), given("git.commit", 150), given("files.write", 300)])).toBe(
      `Allowed by you for 5 minutes, until ${until(400)}.`,
    );
    expect(decisionOf(call, [given("files.write", 100, "1m")])).toBe("Allowed by you for a while.");
    const asked = anItem({
      kind: "question",
      status: "completed",
      data: { kind: "collaboration", authorizes: "files.write", duration: "1h", answer: { choice: "approve", at: 190 } },
    });
    expect(decisionOf(call, [asked])).toBe(`Allowed by you for 1 hour, until ${until(3_790)}.`);
  });
});
