import { useMemo } from "react";
import { definitionText, difference } from "./diff";
import { Seen } from "./Plain";
import classes from "./Tools.module.css";

interface DifferenceProps {
  before: Record<string, unknown>;
  now: Record<string, unknown>;
}

/** What changed between two definitions, line by line. */
export function Difference({ before, now }: DifferenceProps) {
  const lines = useMemo(() => difference(definitionText(before), definitionText(now)), [before, now]);
  return (
    <pre className={`ph-code ${classes.diff}`} tabIndex={0} aria-label="What changed">
      {lines.map((line, at) =>
        line ? (
          <span key={at} data-kind={line.kind}>
            {{ same: "  ", gone: "− ", new: "+ " }[line.kind]}
            <Seen text={line.text} prose />
            {"\n"}
          </span>
        ) : (
          <span key={at} data-kind="same">
            {"  …\n"}
          </span>
        ),
      )}
    </pre>
  );
}
