import type { ReactNode } from "react";
import type { CallItem, QuestionItem } from "../api/types";
import { errorOf } from "../chat/data";
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

const underWay = ["started", "args_received", "waiting_approval", "executing", "input_required", "summarising"] as const;

export type Phase =
  | (typeof underWay)[number]
  | "completed"
  | "failed"
  | "refused"
  | "cancelled"
  | "timed_out"
  | "unknown";

/** Return the phase of a call: how it ended, or how far it is. */
export function phaseOf({ status, data: { phase, decision } }: CallItem): Phase {
  if (status === "failed" && decision?.verdict === "deny") return "refused";
  if (status !== "streaming" && status !== "waiting") return status;
  return underWay.find((each) => each === phase) ?? "started";
}

/** Return why a call was not allowed; of the person's own no, what they said to do instead. */
function refusal(item: CallItem, said: string): string {
  const { decision } = item.data;
  return decision?.authority === "person" ? said : errorOf(item);
}

/** Return the words for a call's phase; `said` is what the person answered when they were asked. */
export function phaseText(item: CallItem, said = ""): string {
  const { argumentBytes: bytes = 0 } = item.data;
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
    case "summarising":
      return "Summing up the result...";
    case "completed":
      return "Completed";
    case "failed":
      return `Failed: ${errorOf(item) || "no reason was given"}`;
    case "refused":
      return refusal(item, said) ? `Not allowed: ${refusal(item, said)}` : "Not allowed";
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
export function phaseNote(item: CallItem): string {
  const phase = phaseOf(item);
  const { cancellation } = item.data;
  if (phase === "unknown") return errorOf(item);
  if (phase !== "cancelled" && phase !== "timed_out") return "";
  return afterStopping[cancellation ?? ""] ?? "";
}

/** The sign for each phase. */
export const phaseIcons: Record<Phase, ReactNode> = {
  started: <HourglassTopIcon size={15} />,
  args_received: <HourglassBottomIcon size={15} />,
  waiting_approval: <QuestionIcon size={15} />,
  executing: <GearIcon size={15} />,
  input_required: <QuestionIcon size={15} />,
  summarising: <GearIcon size={15} />,
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
  refused: "warning",
  timed_out: "warning",
  unknown: "warning",
  waiting_approval: "warning",
  input_required: "warning",
};

export const toneOf = (phase: Phase) => tones[phase] ?? "quiet";

/** Tell whether a call waits for the person: one that was answered about waits for the others beside it. */
export function isAsking(item: CallItem, question?: QuestionItem): boolean {
  const phase = phaseOf(item);
  return phase === "input_required" || (phase === "waiting_approval" && question?.status !== "completed");
}

/** Tell whether a call can still be cancelled by itself. */
export const canCancel = (phase: Phase) =>
  phase === "started" || phase === "args_received" || phase === "executing";

const timeless = new Set<Phase>(["waiting_approval", "input_required", "refused"]);

/** Tell whether a call waits for the person, or was never carried out: that time is not its own. */
export const isTimeless = (phase: Phase) => timeless.has(phase);
