import { Button } from "@mantine/core";
import { useState } from "react";
import { api } from "../api/client";
import type { Item } from "../api/types";
import { argumentsOf, callTime, text } from "../chat/data";
import { Elapsed, useNow } from "../chat/Elapsed";
import { Fold } from "../chat/Fold";
import { seconds } from "../chat/words";
import { tell } from "../shell/messages";
import { fraction, progressOf, secondsLeft, toolName } from "./call";
import classes from "./Calls.module.css";
import { Arguments, Result } from "./CallDetails";
import { canCancel, phaseIcons, phaseOf, phaseText, toneOf, type Phase } from "./phases";

/** A button that asks once, and again only if asking failed. */
function AskOnce({ label, asked, ask }: { label: string; asked: string; ask: () => Promise<unknown> }) {
  const [isAsked, setAsked] = useState(false);
  const send = () => {
    setAsked(true);
    void ask().catch((error: unknown) => {
      setAsked(false);
      tell(error);
    });
  };
  return (
    <Button size="compact-xs" variant="default" disabled={isAsked} onClick={send}>
      {isAsked ? asked : label}
    </Button>
  );
}

function TimeLeft({ item }: { item: Item }) {
  const left = secondsLeft(item, useNow(500));
  if (left === null) return null;
  return (
    <span className={classes.timeLeft}>
      <span role="status">{`Times out in ${Math.ceil(left)} s`}</span>
      <AskOnce
        // Once more time was given, it may be asked for again.
        key={text(item.data.keepWaiting) || String(item.data.deadlineAt)}
        label="Keep waiting"
        asked="Waiting…"
        ask={() => api.keepWaiting(item.id)}
      />
    </span>
  );
}

function ProgressLine({ item }: { item: Item }) {
  const progress = progressOf(item);
  if (!progress) return null;
  const part = fraction(progress);
  return (
    <div className={classes.progress}>
      <progress className={classes.bar} aria-label="Progress" value={part ?? undefined} max={1} />
      <span>
        {part !== null && `${Math.round(part * 100)} % `}
        {progress.message}
      </span>
    </div>
  );
}

function Summary({ item, phase }: { item: Item; phase: Phase }) {
  const { began, took } = callTime(item);
  const friendly = text(item.data.display);
  const name = friendly || (took === null ? `Using ${toolName(item)}...` : toolName(item));
  return (
    <span className={classes.call} data-phase={phase}>
      <span className={classes.callName}>{name}</span>
      <span className={classes.phase}>{phaseText(item)}</span>
      <span className={classes.time}>{took !== null ? seconds(took) : <Elapsed since={began} />}</span>
    </span>
  );
}

/** A tool call: one line while it runs and after, its arguments and result behind it. */
export function ToolCall({ item }: { item: Item }) {
  const phase = phaseOf(item);
  const aside = canCancel(phase) && (
    <AskOnce label="Cancel" asked="Cancelling…" ask={() => api.cancelCall(item.id)} />
  );
  return (
    <div className={classes.card} data-phase={phase}>
      <Fold
        icon={phaseIcons[phase]}
        summary={<Summary item={item} phase={phase} />}
        tone={toneOf(phase)}
        aside={aside}
      >
        {() => (
          <>
            <p className={classes.sentence}>
              {phase === "completed" ? `[OK] ${toolName(item)} completed` : toolName(item)}
              {item.data.server ? ` · ${text(item.data.server)}` : ""}
            </p>
            {argumentsOf(item) && <Arguments item={item} />}
            <Result item={item} />
          </>
        )}
      </Fold>
      {phase === "executing" && <ProgressLine item={item} />}
      {phase === "executing" && <TimeLeft item={item} />}
    </div>
  );
}
