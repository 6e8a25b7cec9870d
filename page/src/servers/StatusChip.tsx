import { useState } from "react";
import type { ServerState } from "../api/types";
import { Elapsed } from "../chat/Elapsed";
import { hostNow } from "../store/clock";
import { isAtWork } from "./actions";
import classes from "./Servers.module.css";
import { toneOf } from "./words";

/** What is done with it meanwhile, and for how long it has been. */
function AtWork({ label }: { label: string }) {
  const [since] = useState(hostNow);
  return (
    <>
      {label.replace("...", "…")}{" "}
      <span aria-hidden>
        <Elapsed since={since} />
      </span>
    </>
  );
}

/** The state of a server in a word and a colour. */
export function StatusChip({ state, label }: { state: ServerState; label: string }) {
  const isBusy = isAtWork(label);
  return (
    <span className={classes.chip} data-tone={isBusy ? "busy" : toneOf(state)} data-state={state}>
      <span className={classes.dot} />
      <span className={classes.chipText}>{isBusy ? <AtWork key={label} label={label} /> : label}</span>
    </span>
  );
}

interface ActionChipProps {
  /** Where it stands in place of the state. */
  state?: ServerState | undefined;
  label: string;
  /** What it does, for those who do not see where it stands. */
  name: string;
  onClick: () => void;
}

/** The chip of a server that waits for its person: what to do about it, too. */
export function ActionChip({ state, label, name, onClick }: ActionChipProps) {
  return (
    <button
      type="button"
      className={`${classes.chip} ${classes.chipButton}`}
      data-tone="busy"
      data-state={state}
      aria-label={name}
      onClick={onClick}
    >
      <span className={classes.dot} />
      <span className={classes.chipText}>{label}</span>
    </button>
  );
}
