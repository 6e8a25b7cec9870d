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
