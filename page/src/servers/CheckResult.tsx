import { Button } from "@mantine/core";
import { useEffect, useRef } from "react";
import { withFix } from "../api/client";
import type { ServerChecked } from "../api/types";
import { seconds } from "../chat/words";
import { Failure } from "../settings/Warning";
import { CheckIcon, ChevronIcon, KeyIcon } from "../shell/icons";
import { Said } from "../shell/Said";
import type { Check } from "./checking";
import classes from "./Keys.module.css";
import { Seen } from "./Plain";
import { counted } from "./words";
import { Working } from "./Working";

function Running({ onStop }: { onStop: () => void }) {
  const stop = (
    <Button size="compact-xs" variant="default" onClick={onStop}>
      Stop
    </Button>
  );
  return <Working action={stop}>Trying it once…</Working>;
}

const isLacking = ({ keys }: ServerChecked) => keys.some(({ source }) => source === "missing");

/** How a check goes and how it went, beside the buttons. */
export function CheckState({ check, onStop }: { check: Check; onStop: () => void }) {
  if (check.name === "running") return <Running onStop={onStop} />;
  if (check.name !== "done") return null;
  const { ok, message, fix, needsSignIn, toolCount, seconds: took } = check.result;
  if (ok) {
    return (
      <p role="status" className="ph-with-icon ph-outcome" data-ok="true">
        <CheckIcon size={16} />
        <span>
          It works: {counted(toolCount, "tool")}, {seconds(took * 1000)}.
        </span>
      </p>
    );
  }
  if (!needsSignIn && !isLacking(check.result)) return <Failure message={withFix(message, fix)} />;
  return (
    <p role="status" className={`ph-with-icon ${classes.needs}`}>
      <KeyIcon size={16} />
      <span>
        <Said text={needsSignIn ? `${message} You are led there once it is added.` : withFix(message, fix)} />
      </span>
    </p>
  );
}

/** The tools that a checked server offers, their descriptions folded. */
export function FoundTools({ result: { tools, toolCount } }: { result: ServerChecked }) {
    const found = useRef<HTMLElement>(null);
  // What was asked for would lie below what is in sight.
  useEffect(() => void found.current?.scrollIntoView({ block: "nearest" }), []);
  if (tools.length === 0) return null;
  return (
    <section ref={found} aria-label="Tools that it offers" className={classes.found}>
      <h3>Tools that it offers</h3>
      <ul className={classes.tools}>
        {tools.map(({ name, title, description }) => (
          <li key={name}>
            {description ? (
              <details>
                <summary>
                  <ChevronIcon size={14} />
                  <Seen text={title || name} />
                </summary>
                <p>
                  <Seen text={description} prose />
                </p>
              </details>
            ) : (
              <Seen text={title || name} />
            )}
          </li>
        ))}
        {toolCount > tools.length && <li>and {toolCount - tools.length} more</li>}
      </ul>
    </section>
  );
}
