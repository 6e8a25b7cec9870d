import { isOpen } from "../api/items";
import { api } from "../api/client";
import type { CallItem, SummaryItem } from "../api/types";
import { Prose } from "../chat/Prose";
import { useApp } from "../store/store";
import { AskOnce } from "./AskOnce";
import classes from "./Calls.module.css";

/** Return the newest summary of a call's result; a model that failed may have left one before it. */
function useSummary(callId: string): SummaryItem | undefined {
  return useApp((state) => {
    let newest: SummaryItem | undefined;
    for (const item of state.open?.items.values() ?? [])
      if (item.kind === "tool_summary" && item.data.callItemId === callId) newest = item;
    return newest;
  });
}

/** A summary while it is written, with its own stop. */
export function SummaryAtWork({ item }: { item: CallItem }) {
  const summary = useSummary(item.id);
  if (!summary || !isOpen(summary)) return null;
  return (
    <div className={classes.summary} role="group" aria-label="Summary of the result">
      <div className={classes.summaryText}>
        <Prose text={summary.text || "…"} isStreaming />
      </div>
      <AskOnce
        label="Stop the summary"
        asked="Stopping…"
        wasAsked={summary.data.cancelRequested ?? false}
        ask={() => api.cancelCall(summary.id)}
      />
    </div>
  );
}

/** What was made of a large result for the model; why there is none, stands in what it got instead. */
export function SummaryMade({ item }: { item: CallItem }) {
  const summary = useSummary(item.id);
  const { model = "" } = summary?.data ?? {};
  const name = useApp((state) => state.models.models.find(({ id }) => id === model)?.name ?? model);
  if (!summary || summary.status !== "completed") return null;
  return (
    <div className={classes.labelled}>
      <div className="ph-label">
        <span>{name ? `Summary by ${name}` : "Summary"}</span>
      </div>
      <Prose text={summary.text} isStreaming={false} />
    </div>
  );
}
