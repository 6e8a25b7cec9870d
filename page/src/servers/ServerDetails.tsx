import { Button } from "@mantine/core";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { api, errorText, withFix } from "../api/client";
import type { ServerAccount, ServerKey, ServerTest, ServerView } from "../api/types";
import { useNow } from "../chat/Elapsed";
import { size } from "../chat/words";
import { TestResult } from "../settings/TestResult";
import { WarningIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { Said } from "../shell/Said";
import { AboutChange } from "./AboutChange";
import { changeServers, loadServers, needsConsent } from "./actions";
import { Plain } from "./Plain";
import { lacking, told } from "./serverKeys";
import type { Opening } from "./ServerRow";
import classes from "./Servers.module.css";
import { moment } from "../shell/time";
import { age, counted, originOf } from "./words";

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
  const keys = told(server);
  return (
    <dl className={`ph-facts ${classes.facts}`}>
      <Fact name={server.transport === "http" ? "Address" : "Command"}>
        <code className={classes.code}>{server.address}</code>
      </Fact>
      {server.package.version && <Fact name="Version">{server.package.version}, pinned</Fact>}
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
      {server.signedIn && (
        <Fact name="Account">
          <Account account={server.signedIn} />
          <span className={classes.note}>{ago(server.signedIn.since)}</span>
        </Fact>
      )}
      <Fact name="Restarts">{server.restarts}</Fact>
      {keys.length > 0 && (
        <Fact name={keys.length > 1 ? "Keys" : "Key"}>
          {keys.map((key) => (
            <span key={key.id} className={classes.key}>
              {key.label}: <KeyPlace serverKey={key} />
            </span>
          ))}
        </Fact>
      )}
      {origin && <Fact name="Origin">{origin}</Fact>}
    </dl>
  );
}

/** Where a key comes from; never the key. */
function KeyPlace({ serverKey: { source, path, variable } }: { serverKey: ServerKey }) {
  if (source === "missing") return "missing";
  if (source === "pasted") return "kept as a secret";
  return (
    <>
      from {source === "file" ? "the file" : "the variable"} <Plain text={path || variable} />
    </>
  );
}

/** Who is signed in, as the issuer calls them, and for what. */
function Account({ account: { account, host, scopes } }: { account: ServerAccount }) {
  return (
    <>
      {account ? (
        <>
          Connected as <Plain text={account} />, at <Plain text={host} />
        </>
      ) : (
        <>
          Signed in at <Plain text={host} />
        </>
      )}
      {scopes.length > 0 && (
        <span className={classes.note}>
          Rights: <Plain text={scopes.join(", ")} />
        </span>
      )}
    </>
  );
}

function SignedInActions({ server, onOpen }: { server: ServerView; onOpen: (kind: Opening) => void }) {
  const signOut = () => void changeServers(api.signOutOf(server.id)).catch(tell);
  return (
    <>
      {server.enabled && server.state !== "needs_sign_in" && (
        <Button size="compact-sm" variant="default" onClick={() => onOpen("sign-in")}>
          Sign in again…
        </Button>
      )}
      <Button size="compact-sm" variant="default" onClick={signOut}>
        Sign out
      </Button>
    </>
  );
}

function Trouble({ server }: { server: ServerView }) {
  if (!server.lastError) return null;
  // What to do stands below as a button, where it waits for its person.
  const isWaiting = server.state === "needs_sign_in" || (server.state === "error" && lacking(server).length > 0);
  return (
    <p className={`ph-with-icon ${classes.trouble}`} data-past={server.state === "connected" || undefined} data-asks={isWaiting || undefined}>
      <WarningIcon size={15} />
      <span>
        {server.state === "connected" && "Last error: "}
        <Said text={withFix(server.lastError, isWaiting ? "" : server.fix)} />
      </span>
    </p>
  );
}

function Oddities({ warnings }: { warnings: string[] }) {
  return warnings.map((warning) => (
    <p key={warning} className={`ph-with-icon ${classes.trouble}`}>
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

/** What a test gave; not once more what stands above it. */
function words({ message, fix }: Pick<ServerTest, "message" | "fix">, known: string): string {
  return message === known ? "It failed, as said above." : withFix(message, fix);
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
  const lacks = lacking(server).length > 0;
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
        {server.state === "needs_sign_in" && (
          <Button size="compact-sm" onClick={() => onOpen("sign-in")}>
            Sign in…
          </Button>
        )}
        {lacks && (
          <Button size="compact-sm" onClick={() => onOpen("key")}>
            Give its key…
          </Button>
        )}
        {server.signedIn && <SignedInActions server={server} onOpen={onOpen} />}
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
        {server.package.version && (
          <Button size="compact-sm" variant="default" onClick={() => onOpen("newer")}>
            Look for a newer version
          </Button>
        )}
        <Button size="compact-sm" variant="default" onClick={() => onOpen("export")}>
          Copy for another program…
        </Button>
        <TestResult doing={isTesting ? "Connecting…" : ""} result={result && { ok: result.ok, message: words(result, server.lastError) }} />
      </div>
    </div>
  );
}
