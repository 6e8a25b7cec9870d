export type PartKind = "system" | "tools" | "files" | "results" | "thinking" | "conversation" | "summary" | "pictures";

export interface ContextPart {
  kind: PartKind;
  label: string;
  server: string;
  tokens: number;
}

export interface UsageSum {
  requests: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  cost: number | null;
  costKnownFor: number;
}

export interface RunUsage extends UsageSum {
  runId: string;
  startedAt: number;
  model: string;
  modelName: string;
  itemId: string;
}

export interface ContextLedger {
  model: string;
  modelName: string;
  window: number;
  used: number;
  counted: "provider" | "estimate";
  compactAbove: number;
  parts: ContextPart[];
  cached: number;
  totals: UsageSum;
  runs: RunUsage[];
  priceLabel: string;
}

export interface DayUsage extends UsageSum {
  day: string;
  model: string;
  modelName: string;
}

export interface UsageReport {
  since: string;
  until: string;
  days: DayUsage[];
  total: UsageSum;
  today: UsageSum;
  budgetToday: number | null;
  pricesFrom: string;
  incomplete: boolean;
}
