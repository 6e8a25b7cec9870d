import { Button } from "@mantine/core";
import { useEffect, useState } from "react";
import { errorText } from "../api/client";
import { hands } from "../api/hands";
import type { ProcessView } from "../api/types";
import { Elapsed } from "../chat/Elapsed";
import { Fold } from "../chat/Fold";
import { LongText } from "../chat/LongText";
import { seconds, size } from "../chat/words";
import { tell } from "../shell/messages";
import { joinedOutput } from "./output";
import classes from "./Terminal.module.css";

const POLL_MS = 1_000;

function useOutput(conversationId: string, processId: string): { output: string; problem: string } {
  const [output, setOutput] = useState("");
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let from = 0;
    let isCurrent = true;
    const ask = async () => {
      try {
        const next = await hands.processOutput(conversationId, processId, from);
        if (!isCurrent) return;
        if (next.output) setOutput((before) => joinedOutput(before, next.output));
        from = next.endIndex;
        if (next.running) timer = setTimeout(() => void ask(), POLL_MS);
      } catch (error) {
        if (isCurrent) setProblem(errorText(error));
      }
    };
    void ask();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [conversationId, processId]);
  return { output, problem };
}

function Output({ conversationId, process }: { conversationId: string; process: ProcessView }) {
  const { output, problem } = useOutput(conversationId, process.id);
  if (problem) return <p className={classes.problem}>{problem}</p>;
  if (!output) return <p className={classes.quiet}>It has written nothing so far.</p>;
  return <LongText text={output} label={`Output of ${process.command}`} />;
}

function State({ process }: { process: ProcessView }) {
  if (process.endedAt === null) {
    return (
      <>
        running, <Elapsed since={process.startedAt * 1000} />
      </>
    );
  }
  const took = seconds((process.endedAt - process.startedAt) * 1000);
  return <>{process.exitCode === null ? `stopped after ${took}` : `exit code ${process.exitCode} after ${took}`}</>;
}

function Stop({ conversationId, process, onChange }: { conversationId: string; process: ProcessView; onChange: () => void }) {
  const [isAsked, setAsked] = useState(false);
  const stop = () => {
    setAsked(true);
    hands
      .stopProcess(conversationId, process.id)
      .then(onChange, tell)
      .finally(() => setAsked(false));
  };
  return (
    <Button size="compact-xs" variant="default" disabled={isAsked} aria-label={`Stop ${process.command}`} onClick={stop}>
      {isAsked ? "Stopping…" : "Stop"}
    </Button>
  );
}

interface ProcessesProps {
  conversationId: string;
  processes: readonly ProcessView[];
  onChange: () => void;
}

/** The commands that go on in the background, each with its output. */
export function Processes({ conversationId, processes, onChange }: ProcessesProps) {
  if (!processes.length) return null;
  return (
    <section className={classes.processes} aria-label="Background commands">
      <h2 className={classes.heading}>Background commands</h2>
      {processes.map((process) => (
        <Fold
          key={process.id}
          isWide
          tone={process.endedAt === null ? "good" : process.exitCode ? "bad" : "quiet"}
          summary={
            <span className={classes.process}>
              <code>{process.command}</code>
              <span>
                <State process={process} />
                {process.outputBytes > 0 && ` · ${size(process.outputBytes)}`}
              </span>
            </span>
          }
          aside={process.endedAt === null && <Stop conversationId={conversationId} process={process} onChange={onChange} />}
        >
          {() => <Output conversationId={conversationId} process={process} />}
        </Fold>
      ))}
    </section>
  );
}
