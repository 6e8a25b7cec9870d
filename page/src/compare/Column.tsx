import { Button } from "@mantine/core";
import { useMemo, useRef, useState, type ReactNode } from "react";
import { api } from "../api/client";
import type { Run } from "../api/types";
import { Dock } from "../approvals/Dock";
import { Elapsed } from "../chat/Elapsed";
import { Pending } from "../chat/Pending";
import { needsWords, rowsOf, type Row } from "../chat/rows";
import { TimelineRow } from "../chat/TimelineRow";
import { useFollow } from "../chat/useFollow";
import { seconds } from "../chat/words";
import { ArrowDownIcon, StopIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { modelName } from "../shell/ModelSelector";
import type { ConversationState } from "../store/conversation";
import { DrawnBranch, useApp, useGetState } from "../store/store";
import classes from "./Compare.module.css";
import { itemsOf, modelOf, spentOf } from "./facts";
import { isAtWork, type Member } from "./group";

const states: Partial<Record<Run["status"], string>> = {
  queued: "waits for its turn",
  waiting: "waits for you",
  failed: "failed",
  cancelled: "stopped",
  interrupted: "interrupted",
};

/** How long it takes or took, and what. */
function Facts({ runId, note }: { runId: string; note: string }) {
  const run = useApp(({ open }) => open?.runs.get(runId));
  const spent = useApp(({ open }) => spentOf(open, runId).join("\n"));
  if (!run) return null;
  const took = run.updatedAt - run.createdAt;
  const state = states[run.status];
  return (
    <p className={classes.facts}>
      {state && <strong data-status={run.status}>{state}</strong>}
      <span>{isAtWork(run) ? <Elapsed since={run.createdAt * 1000} /> : seconds(took * 1000)}</span>
      {[...spent.split("\n"), note].filter(Boolean).map((fact) => (
        <span key={fact}>{fact}</span>
      ))}
    </p>
  );
}

function Stop({ runId, name }: { runId: string; name: string }) {
  const run = useApp(({ open }) => open?.runs.get(runId));
  if (!isAtWork(run)) return null;
  const label = run.cancelRequested ? `Stopping ${name}…` : `Stop ${name}`;
  return (
    <Button
      size="compact-xs"
      variant="default"
      leftSection={<StopIcon size={14} />}
      aria-label={label}
      disabled={run.cancelRequested}
      onClick={() => void api.cancelRun(runId).catch(tell)}
    >
      {run.cancelRequested ? "Stopping…" : "Stop"}
    </Button>
  );
}

/** Return the lines of a run; what can be done about an answer waits until one is gone on with. */
export function rowsIn(open: ConversationState, run: Run): Row[] {
  const order = itemsOf(open, run.id).map(({ id }) => id);
  const rows = rowsOf(order, open.items, new Map([[run.id, run]]), { hidden: open.hidden });
  const shown = rows.flatMap((row): Row[] => {
    if (row.kind === "foot") return [];
    if (row.kind !== "item") return [row];
    const { foot: _, ...said } = row;
    return [said];
  });
  // One that ended before it said anything has nothing for its end to stand below.
  const isTold = shown.some(({ kind }) => kind === "end") || !needsWords(run);
  return isTold ? shown : [...shown, { kind: "end", key: `end-${run.id}`, runId: run.id, isLatest: true }];
}

/** What a run said and did, and how it ended; its end stays in view while the reader is there. */
function Body({ runId, label }: { runId: string; label: string }) {
  const [scroller, setScroller] = useState<HTMLDivElement | null>(null);
  const content = useRef<HTMLDivElement>(null);
  const order = useApp(({ open }) => open?.order);
  const runs = useApp(({ open }) => open?.runs);
  const now = useGetState();
  const rows = useMemo(() => {
    const { open } = now();
    const run = runs?.get(runId);
    if (!open || !run) return [];
    return rowsIn(open, run);
  }, [order, runs, now, runId]);
  const { isAtEnd, onScroll, toEnd, onToggle } = useFollow(scroller, content, runId, 0);
  const last = rows.at(-1);
  return (
    <div className={classes.middle}>
      <div
        ref={setScroller}
        className={classes.scroller}
        data-scroller
        tabIndex={0}
        role="region"
        aria-label={`Answer of ${label}`}
        onScroll={onScroll}
        onClickCapture={(event) => {
          const button = (event.target as Element).closest("[aria-expanded]");
          if (button) onToggle(button);
        }}
      >
        <div ref={content} className={classes.content}>
          {rows.map((row) => (
            <div key={row.key} data-line>
              <TimelineRow row={row} target={null} />
            </div>
          ))}
          {order && <Pending isTold={last?.kind === "activity" && last.tells} />}
        </div>
      </div>
      {!isAtEnd && (
        <Button className={classes.jump} size="compact-xs" variant="default" radius="xl" leftSection={<ArrowDownIcon size={13} />} onClick={toEnd}>
          Jump to latest
        </Button>
      )}
    </div>
  );
}

interface ColumnProps {
  member: Member;
  /** What it is called besides its model. */
  title?: string;
  /** What else is to be known of it, in a few words. */
  note?: string;
  /** What can be done with it. */
  children?: ReactNode;
  isHidden?: boolean;
}

function Inner({ member, title, note = "", children, isHidden = false }: ColumnProps) {
  const { runId } = member;
  const name = useApp((state) => modelName(state, modelOf(state.open, state.open?.runs.get(runId))));
  const label = title ? `${title}: ${name}` : name;
  return (
    <section className={classes.column} aria-label={label} hidden={isHidden} data-branch={member.branch}>
      <header className={classes.head}>
        <div className={classes.names}>
          {title && <span className="ph-group-name">{title}</span>}
          <h2 className={classes.name}>{name}</h2>
        </div>
        <Stop runId={runId} name={name} />
        <Facts runId={runId} note={note} />
      </header>
      <div className={classes.rest}>
        <Body runId={runId} label={label} />
        <div className={classes.asked}>
          <Dock itemId={null} />
        </div>
        {children && <footer className={classes.foot}>{children}</footer>}
      </div>
    </section>
  );
}

/** One run beside another, in its own branch: its model, what it takes, what it says and asks, live. */
export function Column(props: ColumnProps) {
  return (
    <DrawnBranch.Provider value={props.member.branch}>
      <Inner {...props} />
    </DrawnBranch.Provider>
  );
}
