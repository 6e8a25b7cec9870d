import { useMemo, type ReactNode } from "react";
import type { ReplayStep, RunDifference, StepCall, StepDifference } from "../api/types";
import { Seen } from "../servers/Plain";
import { ChevronIcon, ForbiddenIcon, WarningIcon } from "../shell/icons";
import { argumentsText, differences, type Piece } from "./marks";
import classes from "./Replay.module.css";
import { endWords, isSame, NOT_RECORDED, stepFacts, stepWords, summaryFacts, verdict } from "./words";

type Side = "before" | "after";

/** A text with what the other one lacks marked; to those who cannot see that, too. */
function Marked({ pieces, side }: { pieces: readonly Piece[]; side: Side }) {
  const Tag = side === "before" ? "del" : "ins";
  return pieces.map(({ text, differs }, at) =>
    differs && text.trim() ? (
      <Tag key={at} className={classes.mark} data-side={side}>
        <Seen text={text} prose />
      </Tag>
    ) : (
      <Seen key={at} text={text} prose />
    ),
  );
}

interface CallProps {
  call: StepCall;
  pieces: readonly Piece[];
  side: Side;
  /** Whether the other run calls another tool in its place. */
  isOther: boolean;
}

function Call({ call, pieces, side, isOther }: CallProps) {
  const isUnknown = call.status === "not_recorded";
  return (
    <div className={classes.call}>
      <p className={classes.tool}>
        {isOther ? (
          <mark className={classes.mark} data-side={side}>
            {call.tool}
          </mark>
        ) : (
          call.tool
        )}
        {call.status === "failed" && <span className={classes.quiet}> failed</span>}
      </p>
      {call.arguments && call.arguments !== "{}" && (
        <pre className={`ph-code ${classes.arguments}`}>
          <Marked pieces={pieces} side={side} />
        </pre>
      )}
      {isUnknown && (
        <p className={`ph-with-icon ph-warning ${classes.stopped}`}>
          <ForbiddenIcon size={15} />
          <span>{NOT_RECORDED}</span>
        </p>
      )}
    </div>
  );
}

interface CellProps {
  step: ReplayStep | null;
  other: ReplayStep | null;
  side: Side;
}

/** Return both sides of two texts, in pieces, of which this is one. */
const piecesOf = (own: string, other: string, side: Side) =>
  side === "before" ? differences(own, other)[0] : differences(other, own)[1];

/** What one of the runs said and called in a step. */
function Cell({ step, other, side }: CellProps) {
  const name = side === "before" ? "Original" : "Replay";
  const calls = useMemo(
    () =>
      (step?.calls ?? []).map((call, at) => {
        const there = other?.calls[at];
        const isOther = there?.tool !== call.tool;
        const [own, against] = [argumentsText(call.arguments), argumentsText(there?.arguments ?? "")];
        // Of another call nothing can be compared: its name is marked.
        return { call, isOther, pieces: isOther ? [{ text: own, differs: false }] : piecesOf(own, against, side) };
      }),
    [step, other, side],
  );
  const text = useMemo(() => {
    if (!step?.text.trim()) return null;
    return other ? piecesOf(step.text, other.text, side) : [{ text: step.text, differs: false }];
  }, [step, other, side]);
  return (
    <div className={classes.cell} role="group" aria-label={name}>
      <span className={`ph-group-name ${classes.cellName}`}>{name}</span>
      {!step && <p className={classes.quiet}>No such step.</p>}
      {text && (
        <p className={classes.said}>
          <Marked pieces={text} side={side} />
        </p>
      )}
      {calls.map(({ call, isOther, pieces }, at) => (
        <Call key={at} call={call} pieces={pieces} side={side} isOther={isOther} />
      ))}
      {step && !calls.length && !text && <p className={classes.quiet}>Nothing was said or called.</p>}
      {step && <p className={classes.facts}>{stepFacts(step)}</p>}
    </div>
  );
}

/** One step of both runs; what is the same is one line until it is opened. */
function Step({ step }: { step: StepDifference }) {
  return (
    <details className={classes.step} open={!isSame(step)} data-differs={step.differs.join(" ")}>
      <summary className={classes.summary}>
        <span className={classes.chevron}>
          <ChevronIcon size={14} />
        </span>
        <span className={classes.number}>Step {step.number}</span>
        <span className={classes.how}>{stepWords(step)}</span>
      </summary>
      <div className={classes.cells}>
        <Cell step={step.before} other={step.after} side="before" />
        <Cell step={step.after} other={step.before} side="after" />
      </div>
    </details>
  );
}

/** What both runs took, beside each other. */
function Numbers({ difference, names }: { difference: RunDifference; names: readonly [string, string] }) {
  return (
    <div className={classes.numbersBox}>
      <table className={classes.numbers}>
        <thead>
          <tr>
            <th scope="col">
              <span className="ph-hidden">What</span>
            </th>
            <th scope="col">
              Original<span className={classes.model}>{names[0]}</span>
            </th>
            <th scope="col">
              Replay<span className={classes.model}>{names[1]}</span>
            </th>
            <th scope="col">Change</th>
          </tr>
        </thead>
        <tbody>
          {summaryFacts(difference.before, difference.after).map(({ name, before, after, change }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{before}</td>
              <td>{after}</td>
              <td className={classes.change}>{change}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A sentence about how a run went, where it did not come to its end. */
function Stopped({ children }: { children: ReactNode }) {
  return (
    <p className={`ph-with-icon ph-warning ${classes.stopped}`} role="note">
      <WarningIcon size={16} />
      <span>{children}</span>
    </p>
  );
}

/** How a replay differs from its original: in a sentence, in numbers, and step by step. */
export function Difference({ difference, names }: { difference: RunDifference; names: readonly [string, string] }) {
  const { before, steps } = difference;
  const ended = endWords(difference);
  return (
    <div className={classes.difference}>
      <p className={classes.verdict}>{verdict(difference)}</p>
      {ended && <Stopped>{ended}</Stopped>}
      {before.stopped && <Stopped>The original did not come to its end: {before.stopped}</Stopped>}
      <Numbers difference={difference} names={names} />
      <h2 className="ph-section-title">Step by step</h2>
      <div className={classes.steps}>
        {steps.map((step) => (
          <Step key={step.number} step={step} />
        ))}
      </div>
    </div>
  );
}
