import { Button, Loader } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { api } from "../api/client";
import type { Item } from "../api/types";
import {
  CheckIcon,
  ClockIcon,
  CrossCircleIcon,
  ForbiddenIcon,
  HourglassBottomIcon,
  HourglassTopIcon,
  QuestionIcon,
} from "../shell/icons";
import { tell } from "../shell/messages";
import classes from "./Chat.module.css";
import { argumentsOf, callTime, errorOf, text } from "./data";
import { Elapsed } from "./Elapsed";
import { Fold } from "./Fold";
import { LongText } from "./LongText";
import { seconds, size } from "./words";

export type Phase = "started" | "args_received" | "executing" | "completed" | "failed" | "cancelled" | "timed_out" | "unknown";

/** Return the phase of a call: how it ended, or how far it is. */
export function phaseOf(item: Item): Phase {
  if (item.status !== "streaming" && item.status !== "waiting") return item.status;
  const phase = text(item.data.phase);
  return phase === "args_received" || phase === "executing" ? phase : "started";
}

/** Return the words for a call's phase. */
export function phaseText(item: Item): string {
  const bytes = typeof item.data.argumentBytes === "number" ? item.data.argumentBytes : 0;
  switch (phaseOf(item)) {
    case "started":
      return bytes > 0 ? `Receiving args... ${size(bytes)}` : "Receiving args...";
    case "args_received":
      return "Args received";
    case "executing":
      return "Executing...";
    case "completed":
      return "Completed";
    case "failed":
      return `Failed: ${errorOf(item) || "no reason was given"}`;
    case "cancelled":
      return "Cancelled";
    case "timed_out":
      return "timed out";
    case "unknown":
      return "It is not known whether this happened";
  }
}

const icons: Record<Phase, ReactNode> = {
  started: <HourglassTopIcon size={15} />,
  args_received: <HourglassBottomIcon size={15} />,
  executing: <Loader size={13} color="gray" />,
  completed: <CheckIcon size={15} />,
  failed: <CrossCircleIcon size={15} />,
  cancelled: <ForbiddenIcon size={15} />,
  timed_out: <ClockIcon size={15} />,
  unknown: <QuestionIcon size={15} />,
};

const tones = { completed: "good", failed: "bad", timed_out: "warning", unknown: "warning" } as const;

function CancelCall({ itemId }: { itemId: string }) {
  const [isAsked, setAsked] = useState(false);
  const cancel = () => {
    setAsked(true);
    void api.cancelCall(itemId).catch((error: unknown) => {
      setAsked(false);
      tell(error);
    });
  };
  return (
    <Button size="compact-xs" variant="default" disabled={isAsked} onClick={cancel}>
      {isAsked ? "Cancelling…" : "Cancel"}
    </Button>
  );
}

function Details({ item }: { item: Item }) {
  const given = argumentsOf(item);
  return (
    <>
      <p className={classes.quiet}>
        {text(item.data.tool)}
        {item.data.server ? ` · ${text(item.data.server)}` : ""}
      </p>
      {given && <LongText text={given} label="Arguments" />}
      {item.text && <LongText text={item.text} label="Result" />}
    </>
  );
}

/** A tool call: one line while it runs and after, its arguments and result behind it. */
export function ToolCall({ item }: { item: Item }) {
  const phase = phaseOf(item);
  const { began, took } = callTime(item);
  const isOver = took !== null;
  const name = text(item.data.display) || text(item.data.tool) || "A tool";
  const summary = (
    <span className={classes.call} data-phase={phase}>
      <span className={classes.callName}>{isOver || item.data.display ? name : `Using ${name}...`}</span>
      <span className={classes.phase}>{phaseText(item)}</span>
      <span className={classes.time}>{isOver ? seconds(took) : <Elapsed since={began} />}</span>
    </span>
  );
  const tone = phase in tones ? tones[phase as keyof typeof tones] : "quiet";
  return (
    <Fold icon={icons[phase]} summary={summary} tone={tone} aside={!isOver && <CancelCall itemId={item.id} />}>
      {() => <Details item={item} />}
    </Fold>
  );
}
