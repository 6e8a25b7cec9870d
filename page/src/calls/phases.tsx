import type { ReactNode } from "react";
import type { Item } from "../api/types";
import { errorOf, record, text } from "../chat/data";
import { size } from "../chat/words";
import {
  CheckIcon,
  ClockIcon,
  CrossCircleIcon,
  ForbiddenIcon,
  GearIcon,
  HourglassBottomIcon,
  HourglassTopIcon,
  QuestionIcon,
} from "../shell/icons";

const underWay = ["started", "args_received", "waiting_approval", "executing", "input_required"] as const;

export type Phase =
  | (typeof underWay)[number]
  | "completed"
  | "failed"
  | "refused"
  | "cancelled"
  | "timed_out"
  | "unknown";

/** Return the phase of a call: how it ended, or how far it is. */
export function phaseOf(item: Item): Phase {
  if (item.status === "failed" && record(item.data.decision).verdict === "deny") return "refused";
  if (item.status !== "streaming" && item.status !== "waiting") return item.status;
  return underWay.find((phase) => phase === text(item.data.phase)) ?? "started";
}

/** Return why a call was not allowed; what the person said themselves stands below the card. */
const refusal = (item: Item) => (record(item.data.decision).authority === "person" ? "" : errorOf(item));

/** Return the words for a call's phase. */
export function phaseText(item: Item): string {
  const bytes = typeof item.data.argumentBytes === "number" ? item.data.argumentBytes : 0;
  switch (phaseOf(item)) {
    case "started":
      return bytes > 0 ? `Receiving args... ${size(bytes)}` : "Receiving args...";
    case "args_received":
      return "Args received";
    case "waiting_approval":
      return "Waiting for your approval";
    case "executing":
      return "Executing...";
    case "input_required":
      return "Waiting for your answer";
    case "completed":
      return "Completed";
    case "failed":
      return `Failed: ${errorOf(item) || "no reason was given"}`;
    case "refused":
      return refusal(item) ? `Not allowed: ${refusal(item)}` : "Not allowed";
    case "cancelled":
      return "Cancelled";
    case "timed_out":
      return errorOf(item) || "timed out";
    case "unknown":
      return "It is not known whether this happened";
  }
}

const afterStopping: Record<string, string> = {
  asked: "The server was told to stop; it may still be working.",
  unanswered: "It did not answer and may still be running.",
};

/** Return what a person should know besides how a call ended; often nothing. */
export function phaseNote(item: Item): string {
  const phase = phaseOf(item);
  if (phase === "unknown") return errorOf(item);
  if (phase !== "cancelled" && phase !== "timed_out") return "";
  return afterStopping[text(item.data.cancellation)] ?? "";
}

/** The sign for each phase. */
export const phaseIcons: Record<Phase, ReactNode> = {
  started: <HourglassTopIcon size={15} />,
  args_received: <HourglassBottomIcon size={15} />,
  waiting_approval: <QuestionIcon size={15} />,
  executing: <GearIcon size={15} />,
  input_required: <QuestionIcon size={15} />,
  completed: <CheckIcon size={15} />,
  failed: <CrossCircleIcon size={15} />,
  refused: <ForbiddenIcon size={15} />,
  cancelled: <ForbiddenIcon size={15} />,
  timed_out: <ClockIcon size={15} />,
  unknown: <QuestionIcon size={15} />,
};

const tones: Partial<Record<Phase, "good" | "bad" | "warning">> = {
  completed: "good",
  failed: "bad",
  timed_out: "warning",
  unknown: "warning",
  waiting_approval: "warning",
  input_required: "warning",
};

export const toneOf = (phase: Phase) => tones[phase] ?? "quiet";

/** Tell whether a call can still be cancelled by itself. */
export const canCancel = (phase: Phase) =>
  phase === "started" || phase === "args_received" || phase === "executing";

const timeless = new Set<Phase>(["waiting_approval", "input_required", "refused"]);

/** Tell whether a call waits for the person, or was never carried out: that time is not its own. */
export const isTimeless = (phase: Phase) => timeless.has(phase);
