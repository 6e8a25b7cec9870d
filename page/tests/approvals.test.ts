import { describe, expect, it } from "vitest";
import type { ApprovalData, ConfigView, QuestionItem } from "../src/api/types";
import { askedOf, commonFolder, risksOf, titleOf } from "../src/approvals/asked";
import { denied, inTime, lasting, lastingOf, secondsOf } from "../src/approvals/choices";
import { allowable, decisionsOf } from "../src/approvals/decisions";
import { asWritten, read } from "../src/approvals/editing";
import { decidable, groupTitle } from "../src/approvals/group";
import { decided } from "../src/approvals/settled";
import { decisionOf } from "../src/calls/decision";
import { autoApproveEnd, modeAt, modeOf } from "../src/policy/modes";
import { anything, breadth, covering, inWords, patternOf, typed, words } from "../src/policy/pattern";
import { seenFrom } from "../src/shell/paths";
import { aCall, anApproval, anItem } from "./records";
import { clock } from "../src/shell/time";

/** Return what a question about a call carries, without what the test is not about. */
const asking = (data: object) => ({ kind: "approval", ...data }) as ApprovalData;

describe("a question about a call", () => {
  it("may leave out whatever it likes", () => {
    const asked = askedOf(asking({ access: { command: { text: "", argv: [] } }, why: null }));
    expect([asked.command, asked.paths, asked.payloadBytes, asked.choices.length, asked.proposal]).toEqual([null, [], 0, 0, null]);
    expect([asked.operation, asked.why, askedOf(asking({})).preview]).toEqual(["a tool", "", {}]);
  });

  it("says of a folder that everything in it goes along, and of a command that it is typed at an open terminal", () => {
    const access = {
      paths: [{ path: "/w/src", effect: "writes", inside: true, whole: true }, { path: "/w/a", effect: "writes" }],
      command: { text: "make clean", typed: true },
    };
    const { paths, command } = askedOf(asking({ access }));
    expect([paths.map(({ whole }) => whole), command?.typed]).toEqual([[true, undefined], true]);
    expect(titleOf({ text: "Allow Typing?", data: asking({ access }) })).toBe("Allow this to be typed at an open terminal?");
  });

  it("that is dangerous stands alone whatever it says of its shape", () => {
    expect(askedOf(asking({ group: "g", dangerous: "It deletes everything." })).group).toBe("");
    expect(askedOf(asking({ group: "g" })).group).toBe("g");
  });
});

describe("the title of a card", () => {
  it("is the question without why and without the command", () => {
    const title = (text: string, data = {}) => titleOf({ text, data: asking({ why: "It writes.", ...data }) });
    expect(title("Allow Editing file: a.py? It writes.")).toBe("Allow editing file: a.py?");
    expect(title("Allow harbour.send_message? It writes.")).toBe("Allow harbour.send_message?");
    expect(title("Allow Running: ls? It writes.", { access: { command: { text: "ls" } } })).toBe("Allow this command?");
    expect(titleOf({ text: "It writes.", data: asking({ why: "It writes." }) })).toBe("It writes.");
  });
});

describe("questions of the same shape", () => {
  const decisions = (...made: QuestionItem[]) => decisionsOf(made).map(({ items }) => items.map(({ id }) => id));

  it("are one decision, also when others were asked between them", () => {
    const [a, b, c] = ["a", "b", "c"].map((id, at) => anApproval({ group: at === 1 ? "y" : "x" }, { id }));
    expect(decisions(a!, b!, c!)).toEqual([["a", "c"], ["b"]]);
  });

  it("are not when they are dangerous or of another conversation", () => {
    expect(decisions(anApproval({ group: "x", dangerous: "Look." }, { id: "a" }), anApproval({ group: "x" }, { id: "b" }))).toEqual([["a"], ["b"]]);
    expect(decisions(anApproval({ group: "x" }, { id: "a" }), anApproval({ group: "x" }, { id: "b", conversationId: "c_2" }))).toEqual([["a"], ["b"]]);
  });

  it("are named by what they do and where", () => {
    const asked = (path: string) => askedOf(asking({ operation: "file_operations.create_file", access: { paths: [{ path, inside: true }] } }));
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

describe("what a question offers", () => {
  const choices = [
    { id: "allow", label: "Allow once" },
    { id: "task", label: "For this task", note: "until this answer ends" },
    { id: "while", label: "For 30 minutes", durations: ["30m"] },
    { id: "deny", label: "Deny" },
  ];

  it("beyond the one call is whatever the server offers", () => {
    expect(lastingOf(askedOf(asking({ choices })).choices).map(({ id, label, note }) => [id, label, note])).toEqual([
      ["task", "For this task", "until this answer ends"],
      ["while", "For 30 minutes", ""],
    ]);
  });

  it("for several calls is what all of them offer and one pattern covers", () => {
    const proposal = { tool: "files.read" };
    const one = askedOf(asking({ choices, proposal }));
    const [allow, , , deny] = choices;
    expect(decidable([one, askedOf(asking({ choices: [allow, deny], proposal }))]).choices.map(({ id }) => id)).toEqual(["allow", "deny"]);
    expect(decidable([one, one]).choices).toHaveLength(4);
    expect(decidable([one, askedOf(asking({ choices }))]).choices.map(({ id }) => id)).toEqual(["allow", "deny"]);
  });
});

describe("what waits together", () => {
  const made = [
    anApproval({ group: "x" }, { id: "a" }),
    anApproval({ group: "x", dangerous: "Look." }, { id: "b" }),
    anApproval({ group: "x" }, { id: "c" }),
    anApproval({ group: "y" }, { id: "d" }),
    anApproval({}, { id: "e" }),
  ];
  const keys = (apart?: ReadonlySet<string>) => decisionsOf(made, apart).map(({ items }) => items.map(({ id }) => id).join("+"));

  it("is one decision for each shape, until it is taken apart", () => {
    expect(keys()).toEqual(["a+c", "b", "d", "e"]);
    expect(keys(new Set(["x"]))).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("is never allowed together with what is dangerous or stands out", () => {
    expect(allowable(made).map(({ id }) => id)).toEqual(["a", "c", "d"]);
  });
});

describe("what is risky about a call", () => {
  const risks = (access: object, more: object = {}) => risksOf(askedOf(asking({ access, ...more })));

  it("is what nothing holds, what leaves, and what lies elsewhere", () => {
    expect(risks({ command: { text: "ls", argv: [], sandbox: "bubblewrap" } })).toEqual([]);
    expect(risks({ command: { text: "ls", argv: [], sandbox: "bubblewrap", network: true } })).toEqual(["with the network"]);
    expect(risks({ command: { text: "ls", argv: [], sandbox: "" } })).toEqual(["no sandbox: all your rights, and the network"]);
    expect(risks({ paths: [{ path: "/w/a", inside: true }] })).toEqual([]);
    expect(risks({ paths: [{ path: "/etc/a", inside: false, whole: true, protected: "It is guarded." }] })).toEqual([
      "outside the working directory",
      "with everything in it",
      "it is guarded",
    ]);
    expect(risks({ destination: "api.example.com", payloadBytes: 20 })).toEqual(["sends 20 bytes to api.example.com"]);
    const leaving = { rule: "leaving", why: "It can take what was read from your files to api.example.com." };
    expect(risks({ destination: "api.example.com" }, leaving)).toEqual(["it can take what was read from your files to api.example.com"]);
    const command = { text: "git push", argv: [], sandbox: "bubblewrap", network: true };
    expect(risks({ command, destination: "anywhere", payloadBytes: 8 })).toEqual(["with the network"]);
  });
});

describe("what a call is given, changed", () => {
  it("is words as they are and JSON for everything else", () => {
    const given = { text: "a \"b\"", n: 3, deep: { on: true } };
    const written = asWritten(given);
    expect(written).toEqual({ text: 'a "b"', n: "3", deep: '{\n  "on": true\n}' });
    expect(read(given, { ...written, text: "3", n: "4" })).toEqual({ value: { ...given, text: "3", n: 4 }, wrong: new Set() });
    expect(read(given, { ...written, n: "four" })).toEqual({ value: given, wrong: new Set(["n"]) });
  });
});

describe("an answer", () => {
  const ended = (answer: object, fields: Parameters<typeof anApproval>[1] = {}) =>
    decided(anApproval({ operation: "files.read", answer }, { status: "completed", updatedAt: 1_000, ...fields }));

  it("is told in one line: who, what, until when, why not", () => {
    expect(ended({ choice: "allow" })).toBe("You allowed files.read once.");
    expect(ended({ choice: "allow", by: "Ada" })).toBe("Ada allowed files.read once.");
    expect(ended({ choice: "allow", changed: "ab12" })).toBe("You changed what it is given and allowed files.read once.");
    const until = clock(1_300);
    expect(ended({ choice: "conversation", content: { duration: "5m" } })).toBe(
      `You allowed files.read in this conversation for 5 minutes, until ${until}.`,
    );
    expect(ended({ choice: "while", content: { duration: "5m" } })).toBe(
      `You allowed files.read in this conversation for 5 minutes, until ${until}.`,
    );
    expect(ended({ choice: "conversation" })).toBe("You allowed files.read in this conversation.");
    expect(ended({ choice: "task" })).toBe("You allowed files.read for this task.");
    expect(ended({ choice: "always", content: { pattern: { tool: "files.*" } } })).toBe(
      "You always allowed every operation of files.",
    );
    expect(ended({ choice: "deny", text: "Not there." })).toBe("You did not allow files.read: Not there.");
    expect(ended({}, { status: "cancelled" })).toBe("Allow it? This was not answered.");
  });

  it("carries a pattern or a reason only where there is one", () => {
    expect(lasting("task", null)).toEqual({ choice: "task" });
    expect(denied("  ")).toEqual({ choice: "deny" });
    expect(denied(" no ")).toEqual({ choice: "deny", text: "no" });
    expect([inTime("1h"), inTime("90s"), secondsOf("1h 30m"), secondsOf("soon")]).toEqual(["1 hour", "1 minute 30 seconds", 5_400, null]);
  });
});

describe("a pattern", () => {
  it("is told in words", () => {
    expect(inWords({ ...anything, tool: "file_operations.create_file", paths: ["src/**"] })).toBe(
      "file_operations.create_file, only on files in src/",
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

  it("may leave out whatever it likes", () => {
    expect([patternOf({}), patternOf(null), patternOf(undefined)]).toEqual([null, null, null]);
    expect(patternOf({ paths: ["a"] })).toEqual({ ...anything, paths: ["a"] });
  });
});

describe("a mode", () => {
  it("that asks nothing ends by itself", () => {
    const on = { mode: "auto_approve", modeSince: 1_000, workingDirectory: null } as const;
    expect([modeAt(on, null, 2_000), modeAt(on, null, 1_000 + 8 * 3_600)]).toEqual(["auto_approve", "ask"]);
    expect(modeAt({ ...on, modeSince: 0 }, null, 5e9)).toBe("auto_approve");
    expect(autoApproveEnd({ mode: "ask", modeSince: 1_000 })).toBeNull();
    expect(modeOf("anything")).toBe("ask");
  });

  it("that nobody chose is what the server says, by whether there is a folder", () => {
    const config = { modeInFolder: "sandboxed", modeElsewhere: "ask" } as ConfigView;
    const none = { mode: "default", modeSince: 0, workingDirectory: null } as const;
    expect(modeAt(none, config, 0)).toBe("ask");
    expect(modeAt({ ...none, workingDirectory: "/srv/shop" }, config, 0)).toBe("sandboxed");
    expect(modeAt({ ...none, workingDirectory: "/srv/shop" }, null, 0)).toBe("ask");
  });
});

describe("a decision by a permission for a task", () => {
  const decision = { verdict: "allow", authority: "grant", at: 200 };
  const given = anApproval(
    { answer: { choice: "task", at: 100, content: { pattern: { tool: "files.*" } } } },
    { status: "completed", runId: "r_1" },
  );

  it("says so in that run, and in no other", () => {
    const call = (runId: string) => aCall({ access: { operation: "files.write" }, decision }, { runId });
    expect(decisionOf(call("r_1"), [given])).toBe("Allowed by you for this task.");
    expect(decisionOf(call("r_2"), [given])).toBe("Allowed by you for a while.");
  });
});

describe("a decision", () => {
  const decided = (decision: object) => decisionOf(aCall({ decision }));

  it("is told by whose word it rests on", () => {
    expect(decisionOf(aCall())).toBe("");
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
    const call = aCall({ access: { operation: "files.write" }, decision: { verdict: "allow", authority: "grant", at: 200 } });
    const given = (tool: string, at: number, duration = "5m") =>
      anApproval(
        { answer: { choice: "conversation", at, content: { duration, pattern: { tool } } } },
        { status: "completed" },
      );
    expect(decisionOf(call, [given("files.*", 100), given("git.commit", 150), given("files.write", 300)])).toBe(
      `Allowed by you for 5 minutes, until ${clock(400)}.`,
    );
    expect(decisionOf(call, [given("files.write", 100, "1m")])).toBe("Allowed by you for a while.");
    expect(decisionOf(call, [given("files.write", 100, "")])).toBe("Allowed by you in this conversation.");
    const asked = anItem({
      kind: "question",
      status: "completed",
      data: { kind: "collaboration", authorizes: "files.write", duration: "1h", answer: { choice: "approve", at: 190 } },
    });
    expect(decisionOf(call, [asked])).toBe(`Allowed by you for 1 hour, until ${clock(3_790)}.`);
  });
});
