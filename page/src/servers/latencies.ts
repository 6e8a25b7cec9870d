import type { Latency } from "../api/types";

/** What the calls of one tool were like. */
export interface ToolTimes {
  tool: string;
  calls: number;
  failures: number;
  median: number;
  slow: number;
  last: Latency;
}

/** Return the value below which a part of sorted numbers lies. */
function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

/** Return the calls by tool, the most called first. */
export function byTool(calls: readonly Latency[]): ToolTimes[] {
  const groups = new Map<string, Latency[]>();
  for (const call of calls) groups.set(call.tool, [...(groups.get(call.tool) ?? []), call]);
  const times = [...groups].map(([tool, group]) => {
    const sorted = group.map((call) => call.seconds).sort((a, b) => a - b);
    return {
      tool,
      calls: group.length,
      failures: group.filter((call) => !call.ok).length,
      median: quantile(sorted, 0.5),
      slow: quantile(sorted, 0.95),
      last: group.reduce((newest, call) => (call.at >= newest.at ? call : newest)),
    };
  });
  return times.sort((a, b) => b.calls - a.calls || a.tool.localeCompare(b.tool));
}

/** Columns for a plot: the times, then one column of milliseconds for each tool, empty where another was called. */
export type Columns = [number[], ...(number | null)[][]];

/** Return calls as a plot takes them: in the order of time, a column for each tool. */
export function columns(calls: readonly Latency[], tools: readonly string[]): Columns {
  const ordered = calls.filter((call) => tools.includes(call.tool)).sort((a, b) => a.at - b.at);
  const times = ordered.map((call) => call.at);
  return [times, ...tools.map((tool) => ordered.map((call) => (call.tool === tool ? call.seconds * 1000 : null)))];
}
