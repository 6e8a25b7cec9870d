import { ActionIcon } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { memo, useState, type MouseEvent } from "react";
import { bytesAt, save } from "../api/bytes";
import type { Conversation } from "../api/types";
import { DownloadIcon, PencilIcon, TrashIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { conversationPath, navigate, useRoute } from "../shell/router";
import { deleteConversation, renameConversation, restoreConversation } from "../store/actions";
import classes from "./Sidebar.module.css";
import { UndoToast } from "./UndoToast";

const activityWords: Record<string, string> = {
  queued: "running",
  running: "running",
  waiting: "waiting for you",
  failed: "failed",
  interrupted: "interrupted",
};

/** Return a conversation's name, also before it has one. */
export function titleOf(conversation: Conversation): string {
  return conversation.title.trim() || "New conversation";
}

/** Delete a conversation, and offer it back for a while. */
export async function deleteWithUndo(conversation: Conversation): Promise<void> {
  await deleteConversation(conversation.id);
  const toast = `deleted-${conversation.id}`;
  const undo = () => {
    notifications.hide(toast);
    void restoreConversation(conversation.id)
      .then(() => navigate(conversationPath(conversation.id)))
      .catch(tell);
  };
  notifications.show({
    id: toast,
    message: <UndoToast said={`Deleted “${titleOf(conversation)}”.`} onUndo={undo} />,
    autoClose: 12_000,
    withCloseButton: true,
  });
}

function RenameField({ conversation, onDone }: { conversation: Conversation; onDone: () => void }) {
  const [title, setTitle] = useState(titleOf(conversation));
  const save = () => {
    onDone();
    const wanted = title.trim();
    if (wanted && wanted !== conversation.title) void renameConversation(conversation.id, wanted).catch(tell);
  };
  return (
    <input
      className={classes.rename}
      aria-label="Title"
      autoFocus
      maxLength={80}
      value={title}
      onFocus={(event) => event.currentTarget.select()}
      onChange={(event) => setTitle(event.currentTarget.value)}
      onBlur={save}
      onKeyDown={(event) => {
        if (event.key === "Enter") save();
        if (event.key === "Escape") {
          event.preventDefault();
          onDone();
        }
      }}
    />
  );
}

function go(event: MouseEvent, id: string): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  navigate(conversationPath(id));
}

/** Give the person a conversation as a file, which Settings, General takes. */
function exportAsFile({ id }: Conversation): void {
  bytesAt(`/api/conversations/${encodeURIComponent(id)}/export`).then((bytes) => save(`${id}.jsonl`, bytes), tell);
}

/** A conversation in the list: its title, whether something happens in it, rename, export and delete. */
export const ConversationRow = memo(({ conversation }: { conversation: Conversation }) => {
  const route = useRoute();
  const [isRenaming, setRenaming] = useState(false);
  const isCurrent = route.page === "chat" && route.conversationId === conversation.id;
  const activity = activityWords[conversation.activity ?? ""];
  if (isRenaming) {
    return (
      <li className={classes.row}>
        <RenameField conversation={conversation} onDone={() => setRenaming(false)} />
      </li>
    );
  }
  return (
    <li className={classes.row} data-current={isCurrent || undefined}>
      <a
        className={classes.title}
        href={conversationPath(conversation.id)}
        aria-current={isCurrent ? "page" : undefined}
        title={titleOf(conversation)}
        onClick={(event) => go(event, conversation.id)}
        onDoubleClick={() => setRenaming(true)}
      >
        {activity && <span className={classes.activity} data-activity={conversation.activity} title={activity} />}
        <span className={classes.titleText}>{titleOf(conversation)}</span>
        {activity && <span className="ph-hidden"> ({activity})</span>}
      </a>
      <span className={classes.tools}>
        <ActionIcon size="sm" aria-label={`Rename ${titleOf(conversation)}`} onClick={() => setRenaming(true)}>
          <PencilIcon size={15} />
        </ActionIcon>
        <ActionIcon size="sm" aria-label={`Export ${titleOf(conversation)}`} onClick={() => exportAsFile(conversation)}>
          <DownloadIcon size={15} />
        </ActionIcon>
        <ActionIcon
          size="sm"
          aria-label={`Delete ${titleOf(conversation)}`}
          onClick={() => void deleteWithUndo(conversation).catch(tell)}
        >
          <TrashIcon size={15} />
        </ActionIcon>
      </span>
    </li>
  );
});
