import { memo } from "react";
import type { QuestionOf } from "../api/items";
import type { CallItem } from "../api/types";
import { decided } from "../approvals/settled";
import { Fold, type Toggled } from "../chat/Fold";
import { CallChanges } from "../diff/CallChanges";
import { changesOf } from "../diff/changes";
import { useGetState } from "../store/store";
import { AtWork, Cancel } from "./AtWork";
import { toolName } from "./call";
import { CallDetails } from "./CallDetails";
import { CallLine, CallTime } from "./CallLine";
import classes from "./Calls.module.css";
import { decisionOf } from "./decision";
import { GiveKey } from "./GiveKey";
import { MoreTime } from "./MoreTime";
import { phaseIcons, phaseNote, phaseOf, toneOf } from "./phases";
import { Shield } from "./Shield";
import { shownOf, ToolPicture } from "./shown";

/** The picture of what was done; until then, and where it went otherwise, the sign for how far it is. */
export function Sign({ item }: { item: CallItem }) {
  const phase = phaseOf(item);
  const { server } = item.data;
  if (phase === "completed") return <ToolPicture name={shownOf(item)?.icon ?? (server ? "server" : "tool")} />;
  return <span className={phase === "executing" || phase === "summarising" ? classes.turning : classes.sign}>{phaseIcons[phase]}</span>;
}

interface ToolCallProps {
  item: CallItem;
  /** The question that was asked about it. */
  question?: QuestionOf<"approval"> | undefined;
  /** Whether what it drew stands below, and need not be drawn again. */
  isDrawn?: boolean;
  onToggle?: Toggled;
}

/** A tool call: one line while it runs and after; its arguments, its result and what it changed behind it. */
export const ToolCall = memo(({ item, question, isDrawn = false, onToggle }: ToolCallProps) => {
  const now = useGetState();
  const phase = phaseOf(item);
  const note = phaseNote(item);
  const changes = changesOf(item);
  const isAsked = question?.status === "waiting";
  const word = question && !isAsked ? decided(question) : decisionOf(item, now().open?.items.values());
  const aside = (
    <>
      <Cancel items={[item]} />
      {!isAsked && <Shield words={word} />}
      <CallTime item={item} />
    </>
  );
  return (
    <div className={classes.card} data-phase={phase} data-tool={toolName(item)}>
      <Fold
        isWide
        icon={<Sign item={item} />}
        summary={<CallLine item={item} question={question} />}
        tone={phase === "completed" ? "quiet" : toneOf(phase)}
        aside={aside}
        onToggle={onToggle}
      >
        {() => (
          <>
            {changes.length > 0 && <CallChanges item={item} changes={changes} />}
            <CallDetails item={item} isDrawn={isDrawn} />
          </>
        )}
      </Fold>
      {note && <p className={classes.note}>{note}</p>}
      <AtWork item={item} />
      {phase === "timed_out" && <MoreTime item={item} />}
      {phase === "failed" && <GiveKey item={item} />}
    </div>
  );
});
