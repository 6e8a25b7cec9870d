import { SegmentedControl } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import type { LogLine, ServerView } from "../api/types";
import { Failure } from "../settings/Warning";
import { CopyButton } from "../shell/CopyButton";
import { Dialog } from "../shell/Dialog";
import classes from "./Dialogs.module.css";
import { usePolled } from "./usePolled";
import { moment } from "../shell/time";

const EVERY_MS = 1_500;

type Source = LogLine["source"] | "all";

const names: Record<LogLine["source"], string> = {
  stderr: "stderr",
  logging: "logging",
  stdout: "not understood",
  host: "Pilothouse",
};

const plain = (line: LogLine) => `${new Date(line.at * 1000).toISOString()} ${line.source} ${line.level} ${line.text}`;

/** Lines as they came; the newest is in sight until someone scrolls away from it. */
function Lines({ lines }: { lines: readonly LogLine[] }) {
  const box = useRef<HTMLOListElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  const scrolled = () => {
    const element = box.current;
    if (element) follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < 24;
  };
  return (
    <ol ref={box} className={`ph-code ${classes.log}`} tabIndex={0} aria-label="Log" onScroll={scrolled}>
      {lines.map((line, at) => (
        <li key={at} data-source={line.source} data-level={line.level}>
          <time>{moment(line.at)}</time>
          <span className={classes.source}>{names[line.source]}</span>
          <span className={classes.logText}>{line.text}</span>
        </li>
      ))}
    </ol>
  );
}

function Log({ server }: { server: ServerView }) {
  const { data, problem } = usePolled(() => api.serverLog(server.id), EVERY_MS);
  const [source, setSource] = useState<Source>("all");
  const lines = (data?.lines ?? []).filter((line) => source === "all" || line.source === source);
  const sources = ["all", "stderr", "logging", "stdout", "host"] as const;
  return (
    <div className={classes.stack}>
      <div className="ph-actions">
        <SegmentedControl
          size="xs"
          aria-label="Which lines"
          data={sources.map((value) => ({ value, label: value === "all" ? "All" : names[value] }))}
          value={source}
          onChange={(value) => setSource(value as Source)}
        />
        <span className="ph-space" />
        <CopyButton value={lines.map(plain).join("\n")} label="Copy the log" />
      </div>
      <Failure message={problem} />
      {data && lines.length === 0 && <p className="ph-lead">Nothing was written yet.</p>}
      {lines.length > 0 && <Lines lines={lines} />}
    </div>
  );
}

/** What a server wrote and sent, as it comes. */
export function LogDialog({ server, onClose }: { server: ServerView | null; onClose: () => void }) {
  return (
    <Dialog about={server} title={({ name }) => `Logs of ${name}`} size="xl" onClose={onClose}>
      {(shown) => <Log key={shown.id} server={shown} />}
    </Dialog>
  );
}
