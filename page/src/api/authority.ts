import type { Pattern } from "../policy/pattern";
import { client, take } from "./client";
import type { Answer } from "./types";

export type Verdict = "allow" | "ask" | "deny";

export interface Example {
  tool: string;
  paths: string[];
  command: string;
  destination: string;
  folder: string;
}

export interface Rule {
  id: string;
  verdict: Verdict;
  pattern: Pattern;
  note: string;
  match: Example[];
  notMatch: Example[];
  createdAt: number;
}

export interface Grant {
  id: string;
  owner: string;
  conversationId: string;
  pattern: Pattern;
  createdAt: number;
  expiresAt: number;
  singleUse: boolean;
  uses: number;
  lastUsedAt: number | null;
  revokedAt: number | null;
  questionId: string;
}

export interface RuleUse {
  ruleId: string;
  uses: number;
  lastUsedAt: number | null;
}

export interface PolicyView {
  rules: Rule[];
  uses: RuleUse[];
  problem: { file: string; line: number | null; message: string } | null;
}

export interface ReplayedCall {
  itemId: string;
  conversationId: string;
  at: number;
  operation: string;
  summary: string;
  before: Verdict;
  after: Verdict;
  rule: string;
}

export interface PolicyReplay {
  lookedAt: number;
  allowed: number;
  asked: number;
  denied: number;
  changed: ReplayedCall[];
}

export interface PendingApproval {
  itemId: string;
  conversationId: string;
  title: string;
  text: string;
  at: number;
  data: Record<string, unknown>;
}

export interface AuditCheck {
  conversationId: string;
  events: number;
  sound: boolean;
  head: string;
  firstBad: number | null;
}

export interface AuditReport {
  entries: Record<string, unknown>[];
  checks: AuditCheck[];
}

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method, credentials: "same-origin" };
  if (body !== undefined) Object.assign(init, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  const answer = async () => {
    const response = await globalThis.fetch(path, init);
    const parsed = (await response.json().catch(() => null)) as T;
    return response.ok ? { data: parsed, response } : { error: parsed, response };
  };
  return take(answer());
}

/** What the page asks of the server about who may do what. */
export const authority = {
  policy: () => ask<PolicyView>("GET", "/api/policy"),
  keepPolicy: (rules: Rule[]) => ask<PolicyView>("PUT", "/api/policy", { rules }),
  replay: (rules: Rule[]) => ask<PolicyReplay>("POST", "/api/policy/replay", { rules }),
  grants: () => ask<{ grants: Grant[] }>("GET", "/api/grants"),
  revoke: (id: string) => ask<null>("DELETE", `/api/grants/${encodeURIComponent(id)}`),
  approvals: () => ask<{ pending: PendingApproval[] }>("GET", "/api/approvals"),
  answerAll: (itemIds: string[], answer: Answer) => take(client.POST("/api/answers", { body: { itemIds, answer } })),
  audit: () => ask<AuditReport>("GET", "/api/audit"),
};
