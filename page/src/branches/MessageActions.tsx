import { ActionIcon } from "@mantine/core";
import type { ReactNode } from "react";
import type { UserMessageItem } from "../api/types";
import type { Foot } from "../chat/rows";
import chat from "../chat/Chat.module.css";
import { CopyButton } from "../shell/CopyButton";
import { BranchIcon, PencilIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { focusComposer } from "../shell/start";
import { Tip } from "../shell/Tip";
import { isReplay } from "../store/branches";
import { branchAfter, branchBefore, editMessage } from "../store/branching";
import { useApp } from "../store/store";
import { Arrows } from "./Arrows";
import { MoreActions } from "./MoreActions";
import { Regenerate } from "./Regenerate";

interface ActionProps {
  label: string;
  /** What it means here, where its name does not say that. */
  tip?: string;
  onClick: () => void;
  children: ReactNode;
}

/** A quiet button under a message. */
function Action({ label, tip = label, onClick, children }: ActionProps) {
  return (
    <Tip label={tip}>
      <ActionIcon size="sm" aria-label={label} onClick={onClick}>
        {children}
      </ActionIcon>
    </Tip>
  );
}

/** Tell whether nothing is under way for a run: until then it cannot be hidden. */
const useIsOver = (runId: string | null) =>
  useApp(({ open }) => !["queued", "running", "waiting"].includes(open?.runs.get(runId ?? "")?.status ?? ""));

interface ActionsProps {
  what: "message" | "answer";
  /** What is copied; nothing where nothing was said. */
  said: string;
  runId: string;
  /** By what it is hidden. */
  itemId: string | null;
  isOver: boolean;
  /** The own message, which can be edited. */
  own?: UserMessageItem;
}

const branchWords = {
  message: "Branch from here: write something else in its place",
  answer: "Branch from here: go on after this answer",
};

/** What can be done about a message or an answer: the same under each, an own message can be edited, too. */
function Actions({ what, said, runId, itemId, isOver, own }: ActionsProps) {
  // Where a replay is shown there is no box to write the next message in.
  const hasBox = useApp(({ open }) => !isReplay(open?.branches, open?.branch));
  const branch = () => void (own ? branchBefore(own) : branchAfter(runId)).then(focusComposer).catch(tell);
  return (
    <span className={chat.quietly}>
      {said && <CopyButton value={said} label={`Copy ${what}`} />}
      {own && (
        <Action label="Edit" onClick={() => editMessage(own.id)}>
          <PencilIcon size={15} />
        </Action>
      )}
      {isOver && <Regenerate runId={runId} />}
      {hasBox && (
        <Action label="Branch from here" tip={branchWords[what]} onClick={branch}>
          <BranchIcon size={15} />
        </Action>
      )}
      <MoreActions what={what} runId={runId} itemId={itemId} isOver={isOver} />
    </span>
  );
}

/** What can be done about an own message, and the way to its other versions. */
export function MessageActions({ item }: { item: UserMessageItem }) {
  const isOver = useIsOver(item.runId);
  if (item.data.command) return null;
  return (
    <div className={chat.footer} data-own data-quiet>
      <Actions what="message" said={item.text} runId={item.runId ?? ""} itemId={item.id} isOver={isOver} own={item} />
      <Arrows message={item} what="message" />
    </div>
  );
}

interface AnswerActionsProps {
  foot: Foot;
  /** What was said in it. */
  said: string;
  /** A piece of it, by which it is hidden; null where there is none. */
  itemId: string | null;
}

/** What can be done about an answer; while it is on its way, only the way to the others. */
export function AnswerActions({ foot: { runId, messageId }, said, itemId }: AnswerActionsProps) {
  const found = useApp((state) => state.open?.items.get(messageId ?? ""));
  const message: UserMessageItem | undefined = found?.kind === "user_message" ? found : undefined;
  const isOver = useIsOver(runId);
  return (
    <>
      <Arrows message={message} what="answer" />
      {isOver && <Actions what="answer" said={said} runId={runId} itemId={itemId} isOver />}
    </>
  );
}
