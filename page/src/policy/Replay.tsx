import { Button } from "@mantine/core";
import { useState } from "react";
import { authority, type PolicyReplay, type Rule } from "../api/authority";
import { errorText } from "../api/client";
import { counted } from "../servers/words";
import { moment } from "../shell/time";
import { Failure } from "../settings/Warning";
import { itemPath } from "../shell/router";
import classes from "./Policy.module.css";
import { verdictPast } from "./words";

/** Differences that are listed; the rest is counted. */
const LISTED = 50;

function Differences({ replay }: { replay: PolicyReplay }) {
  const { changed, lookedAt } = replay;
  if (!lookedAt) return <p className={classes.quiet}>There are no past calls to look at yet.</p>;
  const others = changed.length - LISTED;
  return (
    <>
      <p className={classes.quiet}>
        {`Of the last ${counted(lookedAt, "call")}: ${replay.allowed} allowed, ${replay.asked} asked about, ${replay.denied} refused. `}
        {changed.length ? `${counted(changed.length, "call")} would have gone otherwise:` : "Nothing would have gone otherwise."}
      </p>
      <ul className={classes.replayed}>
        {changed.slice(0, LISTED).map((call) => (
          <li key={call.itemId}>
            <a href={itemPath(call.conversationId, call.itemId)} target="_blank" rel="noreferrer noopener">
              {call.summary || call.operation}
            </a>
            <span className={classes.quiet}>
              {`${moment(call.at)}: ${verdictPast[call.before]} then, `}
              <strong data-verdict={call.after}>{`${verdictPast[call.after]} with this`}</strong>
              {call.rule && ` (${call.rule})`}
            </span>
          </li>
        ))}
      </ul>
      {others > 0 && <p className={classes.quiet}>{`And ${others} more.`}</p>}
    </>
  );
}

/** Tries a policy on the calls of the past, before it is kept. */
export function Replay({ rules }: { rules: () => Rule[] }) {
  const [isBusy, setBusy] = useState(false);
  const [replay, setReplay] = useState<PolicyReplay | null>(null);
  const [problem, setProblem] = useState("");
  const look = () => {
    setBusy(true);
    setProblem("");
    authority
      .replay(rules())
      .then(setReplay, (error: unknown) => {
        setReplay(null);
        setProblem(errorText(error));
      })
      .finally(() => setBusy(false));
  };
  return (
    <div className={classes.replay}>
      <Button size="compact-sm" variant="default" loading={isBusy} onClick={look}>
        What would this policy have done?
      </Button>
      <div role="status">{replay && <Differences replay={replay} />}</div>
      <Failure message={problem} />
    </div>
  );
}
