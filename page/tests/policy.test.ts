import { describe, expect, it } from "vitest";
import type { Grant, PendingApproval, Rule } from "../src/api/authority";
import { news } from "../src/approvals/waiting";
import { byConversation } from "../src/approvals/WaitingRoom";
import { anything } from "../src/policy/pattern";
import { complaintOf, draftOf, exampleLine, exampleOf, freeId, newRule, ruleOf, withRule } from "../src/policy/ruleDraft";
import { grantFacts, ruleFacts, timeLeft } from "../src/policy/words";
import { parseRoute } from "../src/shell/router";

const aRule = (fields: Partial<Rule> = {}): Rule => ({
  id: "r1",
  verdict: "allow",
  pattern: anything,
  note: "",
  match: [],
  notMatch: [],
  createdAt: 100,
  ...fields,
});

const aGrant = (fields: Partial<Grant> = {}): Grant => ({
  id: "g1",
  owner: "local",
  conversationId: "c_1",
  pattern: anything,
  createdAt: 100,
  expiresAt: 400,
  singleUse: false,
  uses: 0,
  lastUsedAt: null,
  revokedAt: null,
  questionId: "",
  runId: "",
  ...fields,
});

describe("an example of a rule", () => {
  const run = { ...anything, tool: "terminal_operations.run_command", command: ["git", "*"] };

  it("is read as it is typed", () => {
    expect(exampleOf("git log -3", run)).toMatchObject({ tool: run.tool, command: "git log -3", paths: [], folder: "/" });
    expect(exampleOf("files.write: src/a.ts 'two words' in /home/ada", anything)).toMatchObject({
      tool: "files.write",
      paths: ["src/a.ts", "two words"],
      folder: "/home/ada",
    });
    expect(exampleOf("to example.com", { ...anything, tool: "web.post" })).toMatchObject({ tool: "web.post", destination: "example.com" });
  });

  it("is written as it can be typed again", () => {
    for (const line of ["terminal_operations.run_command: git log -3", "files.write: a.ts 'b c' in /w", "web.post: to example.com"]) {
      const example = exampleOf(line, anything);
      expect(exampleOf(exampleLine(example), anything)).toEqual(example);
    }
  });
});

describe("a rule", () => {
  it("keeps its place and its age when it is changed, and a new one is put last", () => {
    const rules = [aRule(), aRule({ id: "r2" })];
    const changed = ruleOf({ ...draftOf(rules[0] as Rule), note: " now " }, rules);
    expect(withRule(rules, changed).map(({ id, note }) => [id, note])).toEqual([
      ["r1", "now"],
      ["r2", ""],
    ]);
    expect(changed.createdAt).toBe(100);
    const added = ruleOf({ ...newRule(), pattern: { ...anything, tool: "git.*" } }, rules);
    expect(withRule(rules, added).at(-1)?.id).toBe("rule-3");
    expect(freeId([aRule({ id: "rule-2" })])).toBe("rule-3");
  });

  it("is told where it is wrong", () => {
    expect(complaintOf("Rule “r1” should be about its example 1 (x), and is not.", "r1")).toEqual({
      field: "match",
      sentence: "It should be about its example 1 (x), and is not.",
    });
    expect(complaintOf("Rule “r1” should not be about its example 2 (y), and is.", "r1").field).toBe("notMatch");
    expect(complaintOf("Rule “r1”: a command begins with the name of a program.", "r1")).toEqual({
      field: "pattern",
      sentence: "A command begins with the name of a program.",
    });
    expect(complaintOf("The disk is full.", "r1").field).toBe("form");
  });

  it("tells its age and its use", () => {
    expect(ruleFacts(aRule(), undefined, 220)).toBe("2 min old, never used");
    expect(ruleFacts(aRule({ createdAt: 0 }), { ruleId: "r1", uses: 3, lastUsedAt: 210 }, 220)).toBe("used 3 times, last 10 s ago");
  });
});

describe("a permission for a while", () => {
  it("tells what is left of it", () => {
    expect(timeLeft(aGrant(), 205)).toBe("3 min 15 s left");
    expect([timeLeft(aGrant(), 399.5), timeLeft(aGrant(), 400)]).toEqual(["1 s left", "over"]);
    expect(timeLeft(aGrant({ expiresAt: null, runId: "r_1" }), 205)).toBe("until its answer ends");
    expect(timeLeft(aGrant({ expiresAt: null }), 205)).toBe("until you withdraw it");
    expect(grantFacts(aGrant({ uses: 1, singleUse: true }), 160)).toBe("1 min old, used once, for one call");
  });
});

describe("what waits", () => {
  const one = (itemId: string, conversationId: string): PendingApproval => ({
    itemId,
    conversationId,
    title: conversationId,
    text: "Allow it?",
    at: 1,
    data: { kind: "limit" },
    arguments: null,
    masked: false,
  });

  it("is told once for each conversation that is not open", () => {
    const now = [one("a", "c_1"), one("b", "c_2"), one("c", "c_2"), one("d", "c_3")];
    expect(news([one("d", "c_3")], now, "c_1").map(({ itemId }) => itemId)).toEqual(["b"]);
    expect(byConversation(now).map(({ id, questions }) => [id, questions.length])).toEqual([
      ["c_1", 1],
      ["c_2", 2],
      ["c_3", 1],
    ]);
  });

  it("has an address", () => {
    expect(parseRoute("/waiting")).toEqual({ page: "waiting" });
    expect(parseRoute("/settings/permissions")).toEqual({ page: "settings", tab: "permissions" });
  });
});
