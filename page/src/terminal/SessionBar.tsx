import { ActionIcon, Button, Tooltip } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { download } from "../api/bytes";
import { hands } from "../api/hands";
import type { SandboxView } from "../api/types";
import { Confirm } from "../settings/Confirm";
import { CheckIcon, CopyIcon, DownloadIcon, StopIcon } from "../shell/icons";
import { sandboxName } from "./sandbox";
import classes from "./Terminal.module.css";
import type { Session } from "./useSession";

const stateWords = { connecting: "connecting…", connected: "", lost: "reconnecting…", ended: "" } as const;

function CopySelection({ text }: { text: string }) {
  const { copied, copy } = useClipboard({ timeout: 1_500 });
  const label = copied ? "Copied" : "Copy the selection";
  return (
    <Tooltip label={label}>
      <ActionIcon size="sm" aria-label={label} aria-disabled={!text || undefined} onClick={() => text && copy(text)}>
        {copied ? <CheckIcon size={15} /> : <CopyIcon size={15} />}
      </ActionIcon>
    </Tooltip>
  );
}

interface SessionBarProps {
  conversationId: string;
  session: Session;
  sandbox: SandboxView;
}

/** What happened to the session, below what it wrote. */
export function SessionNews({ session, onOpen }: { session: Session; onOpen: () => void }) {
  return (
    <div className={classes.newsLine} role="status" hidden={!session.news}>
      <span>{session.news}</span>
      {session.state === "ended" && (
        <Button size="compact-xs" variant="default" onClick={onOpen}>
          Start a new one
        </Button>
      )}
    </div>
  );
}

/** What the session is, and what can be done with it. */
export function SessionBar({ conversationId, session, sandbox }: SessionBarProps) {
  const { terminal, state, selected } = session;
  const held = sandboxName(terminal?.sandbox ?? sandbox.kind);
  const facts = [terminal?.shell, held, stateWords[state]].filter(Boolean).join(" · ");
  const recording = `/api/conversations/${encodeURIComponent(conversationId)}/terminal/recording`;
  return (
    <div className={classes.bar}>
      <span className={classes.facts} role="status">
        {facts}
      </span>
      <CopySelection text={selected} />
      <Tooltip label="Download the recording">
        <ActionIcon size="sm" component="a" {...download(recording, `${conversationId}.cast`)} aria-label="Download the recording">
          <DownloadIcon size={15} />
        </ActionIcon>
      </Tooltip>
      {state !== "ended" && (
        <Confirm question="End this session and everything that runs in it?" action="End" onConfirm={() => hands.closeTerminal(conversationId)}>
          {(ask) => (
            <ActionIcon size="sm" aria-label="End the session" onClick={ask}>
              <StopIcon size={15} />
            </ActionIcon>
          )}
        </Confirm>
      )}
    </div>
  );
}
