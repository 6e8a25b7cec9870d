import { ActionIcon, Tooltip } from "@mantine/core";
import type { ReactNode } from "react";
import type { UserMessageItem } from "../api/types";
import chat from "../chat/Chat.module.css";
import { CopyButton } from "../shell/CopyButton";
import { EyeOffIcon, PencilIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { editMessage } from "../store/branching";
import { useApp } from "../store/store";
import { Arrows } from "./Arrows";
import { hideWithUndo } from "./hiding";

interface ActionProps {
  label: string;
  onClick: () => void;
  children: ReactNode;
}

/** A quiet button under a message. */
export function Action({ label, onClick, children }: ActionProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon size="sm" aria-label={label} onClick={onClick}>
        {children}
      </ActionIcon>
    </Tooltip>
  );
}

/** Tell whether nothing is under way for a run: until then it cannot be hidden. */
export const useIsOver = (runId: string | null) =>
  useApp(({ open }) => !["queued", "running", "waiting"].includes(open?.runs.get(runId ?? "")?.status ?? ""));

/** What can be done about an own message: copy, edit, hide, and the way to its other versions. */
export function MessageActions({ item }: { item: UserMessageItem }) {
  const isOver = useIsOver(item.runId);
  if (item.data.command) return null;
  return (
    <div className={chat.footer} data-own data-quiet>
      <span className={chat.quietly}>
        {item.text && <CopyButton value={item.text} label="Copy message" />}
        <Action label="Edit" onClick={() => editMessage(item.id)}>
          <PencilIcon size={15} />
        </Action>
        {isOver && (
          <Action label="Hide from models" onClick={() => void hideWithUndo(item.id, "message").catch(tell)}>
            <EyeOffIcon size={15} />
          </Action>
        )}
      </span>
      <Arrows message={item} what="message" />
    </div>
  );
}
