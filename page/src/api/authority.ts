import { at, client, take, whole } from "./client";
import type { components } from "./schema";
import type { Answer } from "./types";

type Schemas = components["schemas"];

// What may be left out on the way to the server is always there on the way back.
export type Pattern = Required<Schemas["Pattern"]>;
export type Example = Required<Schemas["Example"]>;
export type Rule = Omit<Required<Schemas["Rule"]>, "pattern" | "match" | "notMatch"> & {
  pattern: Pattern;
  match: Example[];
  notMatch: Example[];
};
export type Grant = Omit<Schemas["Grant"], "pattern"> & { pattern: Pattern };
export type PolicyView = Omit<Schemas["PolicyView"], "rules"> & { rules: Rule[] };
export type AuditReport = Schemas["AuditReport"];
export type PendingApproval = Schemas["PendingApproval"];
export type PolicyReplay = Schemas["PolicyReplay"];
export type RuleUse = Schemas["RuleUse"];
export type Verdict = Rule["verdict"];

/** What the page asks of the server about who may do what. */
export const authority = {
  policy: () => take(client.GET("/api/policy")) as Promise<PolicyView>,
  keepPolicy: (rules: Rule[]) => take(client.PUT("/api/policy", { body: { rules } })) as Promise<PolicyView>,
  replay: (rules: Rule[]) => take(client.POST("/api/policy/replay", { body: { rules } })),
  grants: () =>
    whole((query) => take(client.GET("/api/grants", { params: { query } }))) as Promise<{ grants: Grant[] }>,
  revoke: (id: string) => take(client.DELETE("/api/grants/{id}", at(id))),
  approvals: () => whole((query) => take(client.GET("/api/approvals", { params: { query } }))),
  answerAll: (itemIds: string[], answer: Answer) => take(client.POST("/api/answers", { body: { itemIds, answer } })),
  audit: () => whole((query) => take(client.GET("/api/audit", { params: { query } }))),
};
