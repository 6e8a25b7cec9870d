import { useCallback, useEffect, useState } from "react";
import { operationApi, type ProcessList, type RunList } from "../api/operation";
import { errorText } from "../api/client";
import { counted } from "../servers/words";
import { Failure } from "../settings/Warning";
import { Loading } from "../shell/Standstill";
import classes from "./Operation.module.css";
import { ProcessTable } from "./ProcessTable";
import { RunRows } from "./RunRows";

/** How often an open page looks again. */
const EVERY_MS = 3_000;

interface Operation {
  processes: ProcessList;
  runs: RunList;
}

/** What is at work where, again and again while the page is looked at. */
function useOperation() {
  const [told, setTold] = useState<Operation | null>(null);
  const [problem, setProblem] = useState("");
  const look = useCallback(async () => {
    try {
      const [processes, runs] = await Promise.all([operationApi.processes(), operationApi.runs()]);
      setTold({ processes, runs });
      setProblem("");
    } catch (error) {
      setProblem(errorText(error));
    }
  }, []);
  useEffect(() => {
    void look();
    const timer = setInterval(() => {
      if (!document.hidden) void look();
    }, EVERY_MS);
    return () => clearInterval(timer);
  }, [look]);
  return { told, problem, look };
}

/** Return how much there is to do: "2 at work, 5 waiting for a slot". */
const loadWords = ({ atWork, queued }: ProcessList): string => `${counted(atWork, "answer")} at work, ${queued} waiting for a slot.`;

/** The processes of the installation, and what they are at work on. */
export default function OperationTab() {
  const { told, problem, look } = useOperation();
  return (
    <>
      <Failure message={problem} />
      {!told && !problem && <Loading />}
      {told && (
        <div className={classes.operation}>
          <section className={classes.part} aria-label="Processes">
            <h2 className="ph-section-title">Processes</h2>
            <p className="ph-explained" role="status">
              {loadWords(told.processes)}
            </p>
            <ProcessTable list={told.processes} />
          </section>
          <section className={classes.part} aria-label="Your answers at work and waiting">
            <h2 className="ph-section-title">Your answers at work and waiting</h2>
            <RunRows list={told.runs} processes={told.processes} onStopped={look} />
          </section>
        </div>
      )}
    </>
  );
}
