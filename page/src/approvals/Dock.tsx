import { ActionIcon } from "@mantine/core";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Question } from "../chat/Question";
import { ChevronIcon } from "../shell/icons";
import { useApp, useGetState } from "../store/store";
import { ApprovalCard } from "./ApprovalCard";
import { once } from "./choices";
import { allowable, decisionsOf, isAboutCalls, openQuestions, shapeOf, type Decision } from "./decisions";
import classes from "./Dock.module.css";
import { focusQuestion } from "./focus";
import { headingOf } from "./group";
import { useAnswers } from "./useAnswers";

const nothingApart: ReadonlySet<string> = new Set();

interface PagerProps {
  at: number;
  count: number;
  onTurn: (to: number) => void;
}

/** Which of several questions is shown, and the way to the others. */
function Pager({ at, count, onTurn }: PagerProps) {
  if (count < 2) return null;
  return (
    <span className={classes.pager} role="group" aria-label="Questions that wait">
      <ActionIcon size="sm" className={classes.before} aria-label="The question before" disabled={at === 0} onClick={() => onTurn(at - 1)}>
        <ChevronIcon size={14} />
      </ActionIcon>
      <span>{`${at + 1} of ${count}`}</span>
      <ActionIcon size="sm" aria-label="The next question" disabled={at === count - 1} onClick={() => onTurn(at + 1)}>
        <ChevronIcon size={14} />
      </ActionIcon>
    </span>
  );
}

/** Hand the focus on when the question that had it is gone: to the next one, or to how this one ended. */
function useHandOver(current: Decision | undefined) {
  const dock = useRef<HTMLDivElement>(null);
  const wasHere = useRef(false);
  useEffect(() => {
    const look = (event: Event) => (wasHere.current = dock.current?.contains(event.target as Node) ?? false);
    document.addEventListener("focusin", look);
    document.addEventListener("pointerdown", look);
    return () => {
      document.removeEventListener("focusin", look);
      document.removeEventListener("pointerdown", look);
    };
  }, []);
  const key = current?.key;
  const before = useRef(key);
  useEffect(() => {
    const gone = before.current;
    before.current = key;
    if (!gone || gone === key || !wasHere.current || document.activeElement !== document.body) return;
    if (focusQuestion()) return;
    const ended = document.querySelector<HTMLElement>(`[data-settled~="${gone}"]`) ?? document.querySelector<HTMLElement>("[data-scroller]");
    ended?.focus({ preventScroll: true });
  }, [key]);
  return dock;
}

function words(decision: Decision, folder: string | null): string {
  return isAboutCalls(decision) ? headingOf(decision.items, folder) : decision.items[0].text;
}

/** What the run waits for, above the message box: one question at a time, never off screen. */
export function Dock({ itemId }: { itemId: string | null }) {
  // Drawn again when a question comes or goes, and not with everything else that happens.
  const ids = useApp(({ open }) => openQuestions(open).map(({ id }) => id).join(" "));
  const now = useGetState();
  const folder = useApp(({ open }) => open?.conversation.settings.workingDirectory ?? null);
  const [apart, setApart] = useState(nothingApart);
  const [wanted, setWanted] = useState<string | null>(itemId);
  useEffect(() => setWanted(itemId), [itemId]);
  const questions = useMemo(() => openQuestions(now().open), [ids]);
  const decisions = decisionsOf(questions, apart);
  // Where the person was, also when what they looked at is gone.
  const place = useRef(0);
  const found = decisions.findIndex(({ items }) => items.some(({ id }) => id === wanted));
  const at = found >= 0 ? found : Math.min(place.current, Math.max(0, decisions.length - 1));
  place.current = at;
  const current = decisions[at];
  const dock = useHandOver(current);
  // What is shown stays while others come and go around it.
  useEffect(() => setWanted(current?.key ?? null), [current?.key]);
  const turn = (to: number) => setWanted(decisions[to]?.key ?? current?.key ?? null);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && (event.target as Element).matches("section")) turn(at + step);
  };
  const pager = <Pager at={at} count={decisions.length} onTurn={turn} />;
  const many = allowable(questions);
  const all = useAnswers(many);
  const isTogether = decisions.filter((one) => shapeOf(one) !== "").length > 1;
  const said = current ? `${decisions.length > 1 ? `Question ${at + 1} of ${decisions.length}` : "A question waits for you"}: ${words(current, folder)}` : "";
  return (
    <div ref={dock} className={classes.dock} data-dock onKeyDown={onKeyDown}>
      <span className="ph-hidden" role="status" aria-live="polite">
        {said}
      </span>
      {current && (
        <Shown
          key={current.key}
          current={current}
          pager={pager}
          together={isTogether ? { count: many.length, onAllow: () => all.send(once) } : null}
          onSplit={() => setApart(new Set([...apart, shapeOf(current)]))}
        />
      )}
    </div>
  );
}

interface ShownProps {
  current: Decision;
  pager: ReactNode;
  together: { count: number; onAllow: () => void } | null;
  onSplit: () => void;
}

function Shown({ current, pager, together, onSplit }: ShownProps) {
  if (isAboutCalls(current))
    return (
      <ApprovalCard
        items={current.items}
        pager={pager}
        together={together}
        {...(current.items.length > 1 && { onSplit })}
      />
    );
  return (
    <div className={classes.other}>
      {pager}
      <Question item={current.items[0]} />
    </div>
  );
}
