import { answerTo, isOpen, type QuestionOf } from "../api/items";
import type { CallItem } from "../api/types";
import { callTime } from "../chat/data";
import { Elapsed } from "../chat/Elapsed";
import { duration } from "../chat/words";
import { changesOf } from "../diff/changes";
import { Counts } from "../diff/DiffView";
import { inOneLine, rowName, toolName } from "./call";
import classes from "./Calls.module.css";
import { inPast, inVain } from "./past";
import { isAsking, isTimeless, phaseOf, phaseText, toneOf } from "./phases";
import { shownOf } from "./shown";

/** How long a call took, or takes so far. */
export function CallTime({ item }: { item: CallItem }) {
  const phase = phaseOf(item);
  const { began, took } = callTime(item);
  // One that was stopped before it began took no time.
  if (isTimeless(phase) || (phase === "cancelled" && took !== null && took < 1)) return null;
  return <span className={classes.time}>{took !== null ? duration(took) : <Elapsed since={began} />}</span>;
}

/** Return what a built-in tool says of its call: what it did, or was to do; empty where it says nothing. */
function friendlyOf(item: CallItem): string {
  const { server, display = "" } = item.data;
  const friendly = shownOf(item)?.summary ?? (server ? "" : display);
  if (!friendly || friendly === toolName(item)) return "";
  if (phaseOf(item) === "completed") return inPast(friendly);
  return isOpen(item) ? friendly : inVain(friendly);
}

/** What is called and with what: a friendly line where the tool has one, else its name and its arguments. */
function What({ item }: { item: CallItem }) {
  const friendly = friendlyOf(item);
  if (friendly) return <span>{friendly}</span>;
  const isOver = callTime(item).took !== null;
  // What a person is asked about stands above the message box, in full.
  const given = phaseOf(item) === "waiting_approval" ? "" : inOneLine(item);
  return (
    <>
      <span>{isOver ? rowName(item) : `Using ${toolName(item)}...`}</span>{" "}
      {given && <span className={classes.given}>{given}</span>}
    </>
  );
}

/** What came of it besides its result: how a command ended, and the lines that were changed. */
function Outcome({ item }: { item: CallItem }) {
  const { exitCode } = item.data;
  const sum = (key: "added" | "removed") => changesOf(item).reduce((all, change) => all + change[key], 0);
  const [added, removed] = [sum("added"), sum("removed")];
  return (
    <span className={classes.outcome}>
      {typeof exitCode === "number" && <span className={exitCode ? classes.exitCode : undefined}>{`, exit ${exitCode}`}</span>}
      {added + removed > 0 && (
        <>
          {" "}
          <Counts added={added} removed={removed} />
        </>
      )}
    </span>
  );
}

interface CallLineProps {
  item: CallItem;
  /** The question that was asked about it. */
  question?: QuestionOf<"approval"> | undefined;
}

/** A call in one line: what it does, and how far it is; once it has happened, what it did. */
export function CallLine({ item, question }: CallLineProps) {
  const phase = phaseOf(item);
  const isCompleted = phase === "completed";
  const said = (question && answerTo(question).text) ?? "";
  const isAnswered = phase === "waiting_approval" && !isAsking(item, question);
  return (
    <span className={classes.call} data-completed={isCompleted || undefined}>
      <span className={classes.what}>
        <What item={item} />
      </span>
      {isCompleted && <Outcome item={item} />}{" "}
      <span className={isCompleted ? "ph-hidden" : classes.state} data-tone={isAnswered ? "quiet" : toneOf(phase)}>
        {isAnswered ? "Waiting for your other answers" : phaseText(item, said)}
      </span>
    </span>
  );
}
