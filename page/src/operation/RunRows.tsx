import { Button } from "@mantine/core";
import { useState } from "react";
import { api } from "../api/client";
import type { ProcessList, RunEntry, RunList } from "../api/operation";
import { age } from "../servers/words";
import { PageLink } from "../shell/links";
import { tell } from "../shell/messages";
import { conversationPath } from "../shell/router";
import classes from "./Operation.module.css";
import { placeWords, stateWords } from "./words";

function StopButton({ run, name, onStopped }: { run: RunEntry; name: string; onStopped: () => Promise<void> }) {
  const [isStopping, setStopping] = useState(false);
  const stop = async () => {
    setStopping(true);
    try {
      await api.cancelRun(run.id);
      await onStopped();
    } catch (error) {
      tell(error);
    } finally {
      setStopping(false);
    }
  };
  return (
    <Button variant="default" size="xs" loading={isStopping} disabled={run.cancelRequested} onClick={() => void stop()} aria-label={`Stop ${name}`}>
      Stop
    </Button>
  );
}

interface RowProps {
  run: RunEntry;
  processes: ProcessList;
  onStopped: () => Promise<void>;
}

function Row({ run, processes, onStopped }: RowProps) {
  const name = run.title || "New conversation";
  const facts = [stateWords(run), `for ${age(Math.max(0, processes.now - run.since))}`, placeWords(run, processes.processes)];
  return (
    <li className={classes.run}>
      <div className={classes.about}>
        <PageLink path={conversationPath(run.conversationId)}>{name}</PageLink>
        <span className={classes.facts}>{facts.filter(Boolean).join(" · ")}</span>
      </div>
      <StopButton run={run} name={name} onStopped={onStopped} />
    </li>
  );
}

/** What goes on or waits, each with its conversation and a way to stop it. */
export function RunRows({ list, processes, onStopped }: { list: RunList; processes: ProcessList; onStopped: () => Promise<void> }) {
  if (!list.runs.length) return <p className="ph-explained">Nothing is at work, and nothing waits.</p>;
  return (
    <>
      <ul className={classes.runs}>
        {list.runs.map((run) => (
          <Row key={run.id} run={run} processes={processes} onStopped={onStopped} />
        ))}
      </ul>
      {list.next !== null && <p className="ph-explained">{`There are more than these ${list.runs.length}.`}</p>}
    </>
  );
}
