import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import type { CallItem, Item } from "../api/types";
import { AtWork, Cancel } from "../calls/AtWork";
import { Drawn } from "../calls/CallDetails";
import { CallLine, CallTime } from "../calls/CallLine";
import { isAsking } from "../calls/phases";
import { Sign, ToolCall } from "../calls/ToolCall";
import chat from "../chat/Chat.module.css";
import type { Toggled } from "../chat/Fold";
import { Reminder } from "../chat/Notice";
import { Awaited, pendingWords } from "../chat/Pending";
import { Sturdy } from "../chat/Sturdy";
import { Thinking, ThoughtLine } from "../chat/Thinking";
import { whenDrawn } from "../chat/useFollow";
import { CheckIcon, ChevronIcon } from "../shell/icons";
import { useApp } from "../store/store";
import { useItems } from "../store/useItems";
import { doingsOf, picturesOf, summaryOf, troublesOf, underWay, type Doings, type FlowPicture, type Step } from "./activity";
import classes from "./Activity.module.css";

interface Present {
  sign: ReactNode;
  words: ReactNode;
  /** The calls under way. */
  at: readonly CallItem[];
  /** Whether it waits for the person. */
  isWaiting?: boolean;
}

/** What happens at this moment: a call, thinking, or a wait for the model. Null once all is done. */
function usePresent(doings: Doings, tells: boolean): Present | null {
  const pending = useApp((state) => (tells ? pendingWords(state) : null));
  const { steps, questions } = doings;
  const at = underWay(doings);
  const [first, ...others] = at;
  const spinner = <span className={classes.spinner} />;
  if (first) {
    const words = (
      <>
        <CallLine item={first} question={questions.get(first.id)} />{" "}
        {others.length > 0 && <span className={classes.more}>{`and ${others.length} more`}</span>} <CallTime item={first} />
      </>
    );
    const isWaiting = isAsking(first, questions.get(first.id));
    return { sign: isWaiting ? <Sign item={first} /> : spinner, words, at, isWaiting };
  }
  const thought = steps.filter((step) => step.kind === "thinking").findLast(({ status }) => status === "streaming");
  if (thought) return { sign: spinner, words: <ThoughtLine item={thought} />, at };
  return pending ? { sign: spinner, words: <Awaited words={pending} />, at } : null;
}

interface LineProps {
  doings: Doings;
  tells: boolean;
  isOpen: boolean;
  listId: string;
  onToggle: () => void;
}

/** All that was done in one line: the present step while it works, afterwards how much there was and what went wrong. */
function Line({ doings, tells, isOpen, listId, onToggle }: LineProps) {
  const now = usePresent(doings, tells);
  const { calls, questions } = doings;
  const [only, ...others] = calls;
  const isSingle = only !== undefined && !others.length;
  const done = isSingle ? <CallLine item={only} question={questions.get(only.id)} /> : summaryOf(doings);
  // A single call says by itself how it went.
  const troubles = isSingle ? [] : troublesOf(calls);
  const sign = isSingle ? <Sign item={only} /> : <CheckIcon size={15} />;
  return (
    <>
      <div className={chat.foldLine}>
        <button
          type="button"
          className={`${chat.foldButton} ${classes.line}`}
          data-tone={now?.isWaiting ? "warning" : "quiet"}
          data-doings
          aria-expanded={isOpen}
          aria-controls={isOpen ? listId : undefined}
          onClick={onToggle}
        >
          <span className={chat.foldIcon}>{now ? now.sign : sign}</span>
          <span className={classes.words}>
            {now ? now.words : done}
            {isSingle && !now && <> <CallTime item={only} /></>}
            {troubles.map(({ words, tone: trouble }) => (
              <span key={words} className={classes.trouble} data-tone={trouble}>
                {words}
              </span>
            ))}
          </span>
          <span className={chat.chevron} data-open={isOpen || undefined}>
            <ChevronIcon size={14} />
          </span>
        </button>
        {/* Opened, each row has its own. */}
        {!isOpen && now && <Cancel items={now.at} />}
      </div>
      {!isOpen && now?.at.map((item) => <AtWork key={item.id} item={item} />)}
    </>
  );
}

interface StepViewProps {
  step: Step;
  doings: Doings;
  isDrawn: boolean;
  onToggle: Toggled;
}

function StepView({ step, doings, isDrawn, onToggle }: StepViewProps) {
  if (step.kind === "thinking") return <Thinking item={step} onToggle={onToggle} />;
  if (step.kind === "reminder") return <Reminder item={step} onToggle={onToggle} />;
  return <ToolCall item={step} question={doings.questions.get(step.id)} isDrawn={isDrawn} onToggle={onToggle} />;
}

/** What tools drew, in the flow. */
function Pictures({ pictures }: { pictures: readonly FlowPicture[] }) {
  return (
    <div className={classes.pictures}>
      {pictures.map(({ itemId, part, isMade }) => (
        <Drawn key={`${itemId} ${part.index}`} itemId={itemId} part={part} isMade={isMade} />
      ))}
    </div>
  );
}

/** Return whether a list is open: as the person left it, and always for what they were led to. */
function useOpened(target: string | null) {
  const [left, setLeft] = useState<{ isOpen: boolean; target: string | null }>({ isOpen: false, target: null });
  const isLed = target !== null && left.target !== target;
  return { isOpen: isLed || left.isOpen, setOpen: (isOpen: boolean) => setLeft({ isOpen, target }) };
}

/** Bring the row that someone was led to into view, once the list has its height: a browser keeps in place what it showed
 * before, and scrolls by as much as the list has grown. */
function useLed(target: string | null) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (target === null) return;
    const led = list.current;
    whenDrawn(() => led?.querySelector("[data-target]")?.scrollIntoView({ block: "center" }));
  }, [target]);
  return list;
}

interface ActivityProps {
  /** Names its place. */
  name: string;
  itemIds: readonly string[];
  /** Whether it tells what is awaited, as nothing comes after it. */
  tells: boolean;
  target: string | null;
}

/** What was done between two things that were said: one line that opens to a row for each step. A single step is its own line. */
export function Activity({ name, itemIds, tells, target }: ActivityProps) {
  const items: readonly Item[] = useItems(itemIds);
  const doings = doingsOf(items);
  const { steps, calls, questions } = doings;
  // Who is led to a question is led to the call that it was about; while it waits it stands above the message box.
  const led = [...questions].find(([, { id, status }]) => id === target && status !== "waiting")?.[0] ?? target;
  const meant = steps.some(({ id }) => id === led) ? led : null;
  const { isOpen, setOpen } = useOpened(meant);
  const list = useLed(meant);
  const listId = useId();
  const isAlone = steps.length === 1;
  const pictures = picturesOf(calls);
  const drawn = new Set(pictures.map(({ itemId }) => itemId));
  const asked = [...questions.values()].filter(({ status }) => status !== "waiting").map(({ id }) => id);
  if (!steps.length) return null;
  return (
    <div
      id={name}
      className={chat.row}
      role="group"
      aria-label="What was done"
      data-activity={isAlone ? "step" : "steps"}
      data-settled={asked.join(" ")}
      tabIndex={-1}
    >
      {!isAlone && <Line doings={doings} tells={tells} isOpen={isOpen} listId={listId} onToggle={() => setOpen(!isOpen)} />}
      {(isAlone || isOpen) && (
        <div ref={list} id={listId} className={isAlone ? undefined : classes.list}>
          {steps.map((step) => (
            <div key={step.id} id={`item-${step.id}`} className={classes.step} data-kind={step.kind} data-target={step.id === meant || undefined}>
              <Sturdy item={step}>
                {/* Who reads the only step goes on reading when others come. */}
                <StepView step={step} doings={doings} isDrawn={drawn.has(step.id)} onToggle={isAlone ? setOpen : undefined} />
              </Sturdy>
            </div>
          ))}
        </div>
      )}
      {pictures.length > 0 && <Pictures pictures={pictures} />}
    </div>
  );
}
