import { Button } from "@mantine/core";
import { useState } from "react";
import { api } from "../api/client";
import type { Item } from "../api/types";
import { callTime, text } from "../chat/data";
import { Elapsed, useNow } from "../chat/Elapsed";
import { Fold } from "../chat/Fold";
import { duration } from "../chat/words";
import { CallChanges } from "../diff/CallChanges";
import { changesOf } from "../diff/changes";
import { tell } from "../shell/messages";
import { failedCode, fraction, inOneLine, progressOf, secondsLeft, silentFor, toolName } from "./call";
import classes from "./Calls.module.css";
import { CallDetails } from "./CallDetails";
import { MoreTime } from "./MoreTime";
import { canCancel, isTimeless, phaseIcons, phaseNote, phaseOf, phaseText, toneOf, type Phase } from "./phases";
import { shownOf, ToolPicture } from "./shown";

interface AskOnceProps {
  label: string;
  asked: string;
  /** Whether it was asked already, here or elsewhere. */
  wasAsked?: boolean;
  ask: () => Promise<unknown>;
}

/** A button that asks once, and again only if asking failed. */
function AskOnce({ label, asked, wasAsked = false, ask }: AskOnceProps) {
  const [isAsked, setAsked] = useState(false);
  const send = () => {
    setAsked(true);
    void ask().catch((error: unknown) => {
      setAsked(false);
      tell(error);
    });
  };
  const isOver = isAsked || wasAsked;
  return (
    <Button size="compact-xs" variant="default" className={classes.ask ?? ""} disabled={isOver} onClick={send}>
      {isOver ? asked : label}
    </Button>
  );
}

/** What a call at work is near: its end, or a server of which nothing is heard. Cancel stands above. */
function Waiting({ item }: { item: Item }) {
  const now = useNow(500);
  const left = secondsLeft(item, now);
  const silent = silentFor(item, now);
  if (left === 0) return <p className={classes.timeLeft}>Giving up…</p>;
  if (left === null && silent === null) return null;
  return (
    <p className={classes.timeLeft}>
      {left !== null ? (
        <span role="status">{`Times out in ${Math.ceil(left)} s`}</span>
      ) : (
        <span>
          <span role="status">No sign</span>
          {` for ${silent} s`}
        </span>
      )}
      <AskOnce
        // Once more time was given, it may be asked for again.
        key={`${String(item.data.deadlineAt)} ${String(item.data.quietSince)}`}
        label="Keep waiting"
        asked="Waiting…"
        ask={() => api.keepWaiting(item.id)}
      />
    </p>
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

function Time({ item, phase }: { item: Item; phase: Phase }) {
  const { began, took } = callTime(item);
  // One that was stopped before it began took no time.
  if (isTimeless(phase) || (phase === "cancelled" && took !== null && took < 1)) return null;
  return <span className={classes.time}>{took !== null ? duration(took) : <Elapsed since={began} />}</span>;
}

/** What is called and with what: a friendly line where the tool has one, else its name and its arguments. */
function What({ item, phase }: { item: Item; phase: Phase }) {
  const name = toolName(item);
  const title = callTime(item).took !== null ? name : `Using ${name}...`;
  const shown = shownOf(item);
  const friendly = shown?.summary ?? (item.data.server ? "" : text(item.data.display));
  const isFriendly = friendly && friendly !== name;
  // What a person is asked about stands below, in full.
  const given = isFriendly || phase === "waiting_approval" ? "" : inOneLine(item);
  return (
    <span className={classes.what}>
      {shown && (
        <span className={classes.toolPicture}>
          <ToolPicture name={shown.icon} />
        </span>
      )}
      <span className={isFriendly ? classes.friendly : classes.callName}>
        {isFriendly ? friendly : title}
      </span>{" "}
      {given && <span className={classes.given}>{given}</span>}
    </span>
  );
}

function Summary({ item, phase }: { item: Item; phase: Phase }) {
  const code = failedCode(item);
  return (
    <span className={classes.call}>
      <What item={item} phase={phase} />
      <span className={classes.state}>
        <span className={classes.phase}>{phaseText(item)}</span>{" "}
        {code !== null && <span className={classes.exitCode}>exit code {code}</span>} <Time item={item} phase={phase} />
      </span>
    </span>
  );
}

/** A tool call: one line while it runs and after, its arguments and result behind it. */
export function ToolCall({ item }: { item: Item }) {
  const phase = phaseOf(item);
  const note = phaseNote(item);
  const changes = changesOf(item);
  const aside = canCancel(phase) && (
    <AskOnce
      label="Cancel"
      asked="Cancelling…"
      wasAsked={item.data.cancelRequested === true}
      ask={() => api.cancelCall(item.id)}
    />
  );
  return (
    <div
      className={classes.card}
      data-phase={phase}
      data-over={callTime(item).took !== null || undefined}
      data-changes={changes.length || undefined}
    >
      <Fold
        isWide
        icon={<span className={classes.sign}>{phaseIcons[phase]}</span>}
        summary={<Summary item={item} phase={phase} />}
        tone={toneOf(phase)}
        aside={aside}
      >
        {() => <CallDetails item={item} />}
      </Fold>
      {note && <p className={classes.note}>{note}</p>}
      {changes.length > 0 && <CallChanges item={item} changes={changes} />}
      {phase === "executing" && <ProgressLine item={item} />}
      {phase === "executing" && <Waiting item={item} />}
      {phase === "timed_out" && <MoreTime item={item} />}
    </div>
  );
}
