import { lazy, Suspense, useState } from "react";
import { Button, Table } from "@mantine/core";
import { api } from "../api/client";
import type { LogLine, ServerStatus, ServerView, StateChange } from "../api/types";
import { Failure } from "../settings/Warning";
import { ShowMore } from "../shell/More";
import { useApp } from "../store/store";
import { byTool, type ToolTimes } from "./latencies";
import classes from "./Rooms.module.css";
import { StatusChip } from "./StatusChip";
import { usePolled } from "./usePolled";
import { moment } from "../shell/time";
import { counted, latency, stateName, toneOf } from "./words";

const LatencyPlot = lazy(() => import("./LatencyPlot"));

const EVERY_MS = 3_000;
/** Lines of the past that are shown before someone asks for more. */
const FEW = 5;
/** Tools that one plot tells apart by colour. */
const PLOTTED = 6;
/** Servers drawn before someone asks for more. */
const PAGE = 30;

function Times({ times }: { times: readonly ToolTimes[] }) {
  return (
    <div className={classes.wide} tabIndex={0} role="region" aria-label="Calls by tool">
      <Table className={classes.table} verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Tool</Table.Th>
            <Table.Th>Calls</Table.Th>
            <Table.Th>Failed</Table.Th>
            <Table.Th>Median</Table.Th>
            <Table.Th>95 %</Table.Th>
            <Table.Th>Last</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {times.map((one) => (
            <Table.Tr key={one.tool}>
              <Table.Td className={classes.toolName}>{one.tool}</Table.Td>
              <Table.Td>{one.calls}</Table.Td>
              <Table.Td data-bad={one.failures > 0 || undefined}>{one.failures}</Table.Td>
              <Table.Td>{latency(one.median)}</Table.Td>
              <Table.Td>{latency(one.slow)}</Table.Td>
              <Table.Td>
                {latency(one.last.seconds)}, {moment(one.last.at)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

function Calls({ status }: { status: ServerStatus }) {
  const times = byTool(status.calls);
  if (times.length === 0) return <p className={`ph-explained ${classes.quiet}`}>No calls yet.</p>;
  const label = `Latency of the calls to ${status.server}: ${times.map((one) => `${one.tool} ${latency(one.median)}`).join(", ")}`;
  return (
    <>
      <Suspense fallback={<div className={classes.plot} />}>
        <LatencyPlot calls={status.calls} tools={times.slice(0, PLOTTED).map(({ tool }) => tool)} label={label} />
      </Suspense>
      <Times times={times} />
    </>
  );
}

function History({ history }: { history: readonly StateChange[] }) {
  const [isWhole, setWhole] = useState(false);
  const newest = [...history].reverse();
  return (
    <div className={classes.past}>
      <h3 className={classes.subtitle}>History</h3>
      {newest.length === 0 && <p className={`ph-explained ${classes.quiet}`}>Nothing happened yet.</p>}
      <ol>
        {(isWhole ? newest : newest.slice(0, FEW)).map(({ at, state, reason }, place) => (
          <li key={place}>
            <time>{moment(at)}</time>
            <span className={classes.state} data-tone={toneOf(state)}>
              {stateName(state)}
            </span>
            {reason && <span className={classes.reason}>{reason}</span>}
          </li>
        ))}
      </ol>
      {newest.length > FEW && (
        <Button size="compact-xs" variant="subtle" color="gray" onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show less" : `Show all ${newest.length}`}
        </Button>
      )}
    </div>
  );
}

function Errors({ errors }: { errors: readonly LogLine[] }) {
  if (errors.length === 0) return null;
  return (
    <div className={classes.past}>
      <h3 className={classes.subtitle}>Last errors</h3>
      <ol>
        {[...errors]
          .reverse()
          .slice(0, FEW)
          .map(({ at, text }, place) => (
            <li key={place}>
              <time>{moment(at)}</time>
              <span className={classes.reason}>{text}</span>
            </li>
          ))}
      </ol>
    </div>
  );
}

function Server({ status, server }: { status: ServerStatus; server: ServerView | undefined }) {
  return (
    <section className={classes.server} aria-label={status.server}>
      <div className={classes.serverHead}>
        <h2 className={classes.serverName}>{status.server}</h2>
        <StatusChip state={server?.state ?? status.state} label={server?.label ?? stateName(status.state)} />
      </div>
      <Calls status={status} />
      <div className={classes.pasts}>
        <Errors errors={status.errors} />
        <History history={status.history} />
      </div>
    </section>
  );
}

/** How many servers are in which state, in words. */
function summary(servers: readonly ServerView[]): string {
  const running = servers.filter(({ state }) => state === "connected").length;
  const failing = servers.filter(({ state }) => toneOf(state) === "bad").length;
  const parts = [counted(servers.length, "server"), `${running} connected`, failing > 0 && `${failing} in trouble`];
  return parts.filter(Boolean).join(", ");
}

/** How the servers are and were: states, latencies, errors. */
export function StatusRoom() {
  const servers = useApp((state) => state.servers.servers);
  const { data, problem } = usePolled(api.serverStatus, EVERY_MS);
  const [shown, setShown] = useState(PAGE);
  const byId = new Map(servers.map((server) => [server.id, server]));
  const all = data?.servers ?? [];
  return (
    <>
      <p className={`ph-explained ${classes.quiet}`}>{summary(servers)}</p>
      <Failure message={problem} />
      {data && all.length === 0 && <p className="ph-explained">No servers yet. Add one in the settings.</p>}
      {all.slice(0, shown).map((status) => (
        <Server key={status.serverId} status={status} server={byId.get(status.serverId)} />
      ))}
      <ShowMore left={all.length - shown} onMore={() => setShown(shown + PAGE)} />
    </>
  );
}
