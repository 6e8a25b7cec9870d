import { Button } from "@mantine/core";
import { useState, type MouseEvent } from "react";
import { authority, type AuditReport } from "../api/authority";
import { save } from "../api/bytes";
import { errorText } from "../api/client";
import { counted } from "../servers/words";
import { Failure, Warning } from "../settings/Warning";
import { CheckIcon } from "../shell/icons";
import { useApp } from "../store/store";
import classes from "./Policy.module.css";

function Outcome({ report }: { report: AuditReport }) {
  const titles = useApp((state) => state.conversations);
  const bad = report.checks.filter(({ sound }) => !sound);
  if (!bad.length) {
    const events = report.checks.reduce((sum, check) => sum + check.events, 0);
    return (
      <p className="ph-with-icon ph-outcome" data-ok>
        <CheckIcon size={15} />
        {`${counted(report.entries.length, "call")} in ${counted(report.checks.length, "conversation")}; all ${counted(events, "event")} are as they were written.`}
      </p>
    );
  }
  return (
    <Warning title="The record was altered">
      {bad.map((check) => (
        <p key={check.conversationId}>
          {titles.find(({ id }) => id === check.conversationId)?.title || check.conversationId}
          {check.firstBad === null ? " is not as it was written." : `: event ${check.firstBad} and what follows are not as they were written.`}
        </p>
      ))}
    </Warning>
  );
}

const FILE = "pilothouse-record.json";

const keep = (report: AuditReport) =>
  save(FILE, new Blob([JSON.stringify(report)], { type: "application/json" }));

/** The record of every decision: whether it can be believed, and all of it as a file. */
export function Audit() {
  const [isBusy, setBusy] = useState(false);
  const [report, setReport] = useState<AuditReport | null>(null);
  const [problem, setProblem] = useState("");
  const ask = (take: (report: AuditReport) => void) => {
    setBusy(true);
    setProblem("");
    authority
      .audit()
      .then(take, (error: unknown) => setProblem(errorText(error)))
      .finally(() => setBusy(false));
  };
  const exported = (event: MouseEvent) => {
    event.preventDefault();
    ask(keep);
  };
  return (
    <section aria-label="Record">
      <h2 className="ph-section-title">Record</h2>
      <p className="ph-explained">
        Every call with who decided about it, by which rule, and how it ended. Each event is sealed to the one before it,
        so that a change shows.
      </p>
      <div className={classes.actions}>
        <Button size="compact-sm" variant="default" loading={isBusy} onClick={() => ask(setReport)}>
          Check the record
        </Button>
        <Button size="compact-sm" variant="default" component="a" href="/api/audit" download={FILE} onClick={exported}>
          Export
        </Button>
      </div>
      <div role="status">{report && <Outcome report={report} />}</div>
      <Failure message={problem} />
    </section>
  );
}
