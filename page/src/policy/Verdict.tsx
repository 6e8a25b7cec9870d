import type { Verdict as Word } from "../api/authority";
import classes from "./Policy.module.css";
import { verdictNames } from "./words";

const tints = { allow: "", ask: "ph-warning", deny: "ph-bad" };

/** Allow, ask or deny, told by its word and its colour. */
export function Verdict({ verdict }: { verdict: Word }) {
  return (
    <span className={`${tints[verdict]} ${classes.verdict}`} data-verdict={verdict}>
      {verdictNames[verdict]}
    </span>
  );
}
