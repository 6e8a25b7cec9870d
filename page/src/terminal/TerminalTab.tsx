import { Button } from "@mantine/core";
import { lazy, Suspense, useCallback, useEffect, useState } from "react";
import { hands } from "../api/hands";
import type { SandboxView, TerminalList, TerminalView } from "../api/types";
import { usePolled } from "../servers/usePolled";
import { FolderForm } from "../shell/FolderForm";
import { Loading } from "../shell/Standstill";
import { WarningIcon } from "../shell/icons";
import { useFolder } from "../shell/useFolder";
import { useApp } from "../store/store";
import { wantFocus } from "./focus";
import { Processes } from "./Processes";
import { SessionBar, SessionNews } from "./SessionBar";
import classes from "./Terminal.module.css";
import { endedWords, useSession } from "./useSession";

const load = () => import("./Screen");
const Screen = lazy(load);

/** How often the list of sessions and background commands is asked for. */
const EVERY_MS = 2_500;

function Sandbox({ sandbox }: { sandbox: SandboxView }) {
  if (sandbox.kind === "none" || sandbox.warning) {
    return (
      <p className={`ph-with-icon ph-warning ${classes.warning}`} role="status">
        <WarningIcon size={15} />
        <span>{sandbox.warning || "Nothing holds commands back on this machine: they may do whatever you may do."}</span>
      </p>
    );
  }
  return null;
}

function Start({ last, onStart }: { last: TerminalView | undefined; onStart: () => void }) {
  const folder = useFolder();
  // It is there when it is wanted: whoever opens a terminal types at once.
  useEffect(() => void load(), []);
  return (
    <div className={classes.start}>
      {last && <p>{endedWords(last.exitCode)} What it wrote is kept; a new one goes on below it.</p>}
      <p>
        No terminal is open. It starts in <code>{folder}</code>, and the agent uses the same one.
      </p>
      <Button size="xs" onClick={onStart}>
        Open a terminal
      </Button>
    </div>
  );
}

function Attached({ conversationId, list, refresh }: { conversationId: string; list: TerminalList; refresh: () => void }) {
  const running = list.sessions.some((session) => session.running);
  const [isWanted, setWanted] = useState(false);
  const session = useSession(refresh);
  const last = list.sessions[0];
  const open = () => {
    wantFocus();
    session.begin(last ? "What earlier sessions wrote is restored above." : "");
    setWanted(true);
  };
  // One that has ended stays in sight, with its last words.
  const isShown = running || isWanted || session.state === "ended";
  return (
    <>
      <Sandbox sandbox={list.sandbox} />
      {isShown ? (
        <>
          <SessionBar conversationId={conversationId} session={session} sandbox={list.sandbox} />
          <Suspense fallback={<Loading />}>
            <Screen key={`${conversationId} ${session.generation}`} conversationId={conversationId} {...session.handlers} />
          </Suspense>
          <SessionNews session={session} onOpen={open} />
        </>
      ) : (
        <Start last={last} onStart={open} />
      )}
      <Processes conversationId={conversationId} processes={list.processes} onChange={refresh} />
    </>
  );
}

function Found({ conversationId }: { conversationId: string }) {
  const { data, problem, refresh } = usePolled(
    useCallback(() => hands.terminals(conversationId), [conversationId]),
    EVERY_MS,
  );
  if (!data) return problem ? <p className={classes.problem}>{problem}</p> : <Loading />;
  return <Attached conversationId={conversationId} list={data} refresh={refresh} />;
}

/** The conversation's terminal and its background commands. */
export default function TerminalTab() {
  const conversationId = useApp((state) => state.open?.conversation.id ?? null);
  const folder = useFolder();
  if (!folder) {
    return (
      <div className={classes.empty}>
        <p>
          This conversation has no working directory. Choose the folder in which commands run and files are edited; then
          there is a terminal here.
        </p>
        <FolderForm />
      </div>
    );
  }
  if (!conversationId) {
    return (
      <div className={classes.empty}>
        <p>A terminal belongs to a conversation. Send a first message; then there is one here.</p>
      </div>
    );
  }
  return (
    <div className={classes.terminal}>
      <Found key={conversationId} conversationId={conversationId} />
    </div>
  );
}
