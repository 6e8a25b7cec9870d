import type { ServerState } from "../api/types";
import classes from "./Servers.module.css";
import { toneOf } from "./words";

/** The state of a server in a word and a colour. */
export function StatusChip({ state, label }: { state: ServerState; label: string }) {
  return (
    <span className={classes.chip} data-tone={toneOf(state)} data-state={state}>
      <span className={classes.dot} />
      <span className={classes.chipText}>{label}</span>
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
