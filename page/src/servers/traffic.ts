import type { TrafficMessage } from "../api/types";

export interface TrafficFilter {
  serverId: string | null;
  direction: "all" | "out" | "in";
  kind: "all" | TrafficMessage["kind"];
  text: string;
}

export const noFilter: TrafficFilter = { serverId: null, direction: "all", kind: "all", text: "" };

/** As many messages as the page keeps; the oldest go first. */
const KEPT = 5_000;

/** Return what was there with what came, without what is too old. */
export function grown(before: readonly TrafficMessage[], more: readonly TrafficMessage[]): readonly TrafficMessage[] {
  if (more.length === 0) return before;
  const last = before.at(-1)?.seq ?? 0;
  return [...before, ...more.filter(({ seq }) => seq > last)].slice(-KEPT);
}

/** Return the messages that fit. */
export function fitting(messages: readonly TrafficMessage[], filter: TrafficFilter): TrafficMessage[] {
  const text = filter.text.trim().toLowerCase();
  return messages.filter(
    (message) =>
      (!filter.serverId || message.serverId === filter.serverId) &&
      (filter.direction === "all" || message.direction === filter.direction) &&
      (filter.kind === "all" || message.kind === filter.kind) &&
      (!text || `${message.method} ${message.id} ${message.text}`.toLowerCase().includes(text)),
  );
}
