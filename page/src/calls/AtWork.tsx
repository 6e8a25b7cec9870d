import { api } from "../api/client";
import type { CallItem } from "../api/types";
import { useNow } from "../chat/Elapsed";
import { AskOnce } from "./AskOnce";
import { fraction, progressOf, secondsLeft, silentFor } from "./call";
import classes from "./Calls.module.css";
import { canCancel, phaseOf } from "./phases";
import { SummaryAtWork } from "./Summary";

/** Ends one call, or several that are at work beside each other, and nothing else. */
export function Cancel({ items }: { items: readonly CallItem[] }) {
  const left = items.filter((item) => canCancel(phaseOf(item)));
  if (!left.length) return null;
  return (
    <AskOnce
      // Another call can be cancelled though this one was.
      key={left.map(({ id }) => id).join()}
      label={left.length > 1 ? `Cancel these ${left.length}` : "Cancel"}
      asked="Cancelling…"
      wasAsked={left.every(({ data: { cancelRequested } }) => cancelRequested)}
      ask={() => Promise.all(left.map(({ id }) => api.cancelCall(id)))}
    />
  );
}

/** What a call at work is near: its end, or a server of which nothing is heard. */
function Waiting({ item }: { item: CallItem }) {
  const now = useNow(500);
  const left = secondsLeft(item, now);
  const silent = silentFor(item, now);
  const { deadlineAt, quietSince } = item.data;
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
        key={`${deadlineAt} ${quietSince}`}
        label="Keep waiting"
        asked="Waiting…"
        ask={() => api.keepWaiting(item.id)}
      />
    </p>
  );
}

function ProgressLine({ item }: { item: CallItem }) {
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

/** How far a call at work is, and what it is near. */
export function AtWork({ item }: { item: CallItem }) {
  const phase = phaseOf(item);
  if (phase === "summarising") return <SummaryAtWork item={item} />;
  if (phase !== "executing") return null;
  return (
    <>
      <ProgressLine item={item} />
      <Waiting item={item} />
    </>
  );
}
