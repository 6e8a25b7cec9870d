import { Button } from "@mantine/core";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { api, errorText, withFix } from "../api/client";
import type { ServerTest, ServerView } from "../api/types";
import { useNow } from "../chat/Elapsed";
import { size } from "../chat/words";
import { CheckIcon, CrossCircleIcon, WarningIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { Said } from "../shell/Said";
import { AboutChange } from "./AboutChange";
import { changeServers, loadServers, needsConsent } from "./actions";
import type { Opening } from "./ServerRow";
import classes from "./Servers.module.css";
import { age, counted, moment, originOf } from "./words";

const FRESH_MS = 5_000;

const wires = { auto: "detected when connecting", streamable: "streamable HTTP", sse: "HTTP+SSE", websocket: "WebSocket" };

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function processWords(server: ServerView, now: number): string {
  const { process } = server;
  if (!process) return "";
  const memory = process.memoryBytes === null ? "" : `, ${size(process.memoryBytes)}`;
  return `pid ${process.pid}${memory}, up ${age(now / 1000 - process.startedAt)}`;
}

function Facts({ server }: { server: ServerView }) {
  const now = useNow(1_000);
  const ago = (at: number) => `${moment(at, now)} (${age(now / 1000 - at)} ago)`;
  const process = processWords(server, now);
  const origin = originOf(server);
  return (
    <dl className={classes.facts}>
      <Fact name={server.transport === "http" ? "Address" : "Command"}>
        <code className={classes.code}>{server.address}</code>
      </Fact>
      {server.transport === "http" && <Fact name="Transport">{wires[server.wire]}</Fact>}
      {server.protocolVersion && (
        <Fact name="Protocol">
          {server.protocolVersion}
          {server.serverVersion && `, ${server.serverVersion}`}
          {server.protocolNote && <span className={classes.note}>{server.protocolNote}</span>}
        </Fact>
      )}
      {process && <Fact name="Process">{process}</Fact>}
      {server.connectedAt !== null && <Fact name="Connected">{ago(server.connectedAt)}</Fact>}
      {server.lastUsedAt !== null && <Fact name="Last used">{ago(server.lastUsedAt)}</Fact>}
      {server.lastHealthCheck !== null && <Fact name="Last checked">{ago(server.lastHealthCheck)}</Fact>}
      <Fact name="Restarts">{server.restarts}</Fact>
      {server.secretNames.length > 0 && <Fact name="Kept secret">{server.secretNames.join(", ")}</Fact>}
      {origin && <Fact name="Origin">{origin}</Fact>}
    </dl>
  );
}

function Trouble({ server }: { server: ServerView }) {
  if (!server.lastError) return null;
  return (
    <p className={classes.trouble} data-past={server.state === "connected" || undefined}>
      <WarningIcon size={15} />
      <span>
        {server.state === "connected" && "Last error: "}
        <Said text={withFix(server.lastError, server.fix)} />
      </span>
    </p>
  );
}

function Oddities({ warnings }: { warnings: string[] }) {
  return warnings.map((warning) => (
    <p key={warning} className={classes.trouble}>
      <WarningIcon size={15} />
      <span>{warning}</span>
    </p>
  ));
}

function useTest(id: string) {
  const [isTesting, setTesting] = useState(false);
  const [result, setResult] = useState<Pick<ServerTest, "ok" | "message" | "fix"> | null>(null);
  const test = () => {
    setTesting(true);
    setResult(null);
    changeServers(api.testServer(id))
      .catch((error: unknown) => ({ ok: false, message: errorText(error), fix: "" }))
      .then(setResult)
      .finally(() => setTesting(false));
  };
  return { isTesting, result, test };
}

function TestWords({ isTesting, result, known }: Omit<ReturnType<typeof useTest>, "test"> & { known: string }) {
  const isSame = result?.message === known;
  return (
    <span role="status" className={classes.test} data-ok={result?.ok}>
      {isTesting && "Connecting…"}
      {result && (
        <>
          {result.ok ? <CheckIcon size={15} /> : <CrossCircleIcon size={15} />}
          <span>
            {isSame ? "It failed, as said above." : <Said text={withFix(result.message, result.fix)} />}
          </span>
        </>
      )}
    </span>
  );
}

/** Memory and the last check change without anyone telling; they are asked for while someone looks. */
function useFresh(isRunning: boolean): void {
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => {
      // What is shown stays when the server is away; the bar above says that it is.
      if (document.visibilityState === "visible") void loadServers().catch(() => undefined);
    }, FRESH_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
}

/** What is known about the selected server, and what can be done with it. */
export function ServerDetails({ server, onOpen }: { server: ServerView; onOpen: (kind: Opening) => void }) {
  const { isTesting, result, test } = useTest(server.id);
  const place = useRef<HTMLDivElement>(null);
  useFresh(server.process !== null);
  // Of the last row it would lie below what is in sight.
  useEffect(() => void place.current?.scrollIntoView({ block: "nearest" }), []);
  const isAway = server.enabled && ["error", "disconnected", "reconnecting", "idle"].includes(server.state);
  const isUp = ["connected", "connecting", "reconnecting"].includes(server.state);
  const stop = () => void changeServers(api.disconnectServer(server.id)).catch(tell);
  const retry = () => void changeServers(api.retryServer(server.id)).catch(tell);
  return (
    <div ref={place} className={classes.details}>
      <Oddities warnings={server.warnings} />
      <Trouble server={server} />
      <AboutChange server={server} />
      <Facts server={server} />
      <div className={classes.actions}>
        {needsConsent(server) && (
          <Button size="compact-sm" onClick={() => onOpen("consent")}>
            Review and start…
          </Button>
        )}
        {isAway && (
          <Button size="compact-sm" variant="default" onClick={retry}>
            {server.state === "idle" ? "Start" : "Retry"}
          </Button>
        )}
        {isUp && (
          <Button size="compact-sm" variant="default" title="Its next call starts it again" onClick={stop}>
            Stop
          </Button>
        )}
        <Button size="compact-sm" variant="default" onClick={() => onOpen("tools")}>
          View {server.toolCount > 0 ? counted(server.toolCount, "tool") : "tools"}
        </Button>
        <Button size="compact-sm" variant="default" onClick={() => onOpen("log")}>
          Logs
        </Button>
        {server.enabled && !needsConsent(server) && (
          <Button size="compact-sm" variant="default" loading={isTesting} onClick={test}>
            Test
          </Button>
        )}
        <TestWords isTesting={isTesting} result={result} known={server.lastError} />
      </div>
    </div>
  );
}
