import { Button, Checkbox, Textarea } from "@mantine/core";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import type { UserMessageItem } from "../api/types";
import { partsOf } from "../calls/call";
import { newKey } from "../composer/drafts";
import { sends, useEnterSends } from "../composer/keys";
import { stillToSay } from "../shell/messages";
import { Said } from "../shell/Said";
import { sendEdited } from "../store/branching";
import { setState } from "../store/store";
import { askBefore } from "./asking";
import classes from "./Branches.module.css";
import { keepEdit, keptEdit } from "./editDrafts";

/** What was changed of messages and not sent: a line that leaves the view and comes back still has it. */
const drafts = new Map<string, string>();

/** Return what was attached to a message, by name. */
function attachedTo(item: UserMessageItem): string[] {
  const images = partsOf(item).filter((part) => part.kind === "image");
  return [...images.map((part, at) => part.name || `Image ${at + 1}`), ...(item.data.documents ?? []).map(({ name }) => name)];
}

/** Return what was made of a message so far, also before a reload. */
function draftOf({ id, conversationId, text }: UserMessageItem): string {
  const kept = keptEdit(conversationId);
  return drafts.get(id) ?? (kept?.itemId === id ? kept.text : text);
}

function forget({ id, conversationId }: UserMessageItem): void {
  drafts.delete(id);
  // Of another message, another tab may have kept one.
  if (keptEdit(conversationId)?.itemId === id) keepEdit(conversationId, null);
}

function leave(item: UserMessageItem): void {
  forget(item);
  setState({ editing: null });
}

/** An own message, to be said otherwise: what comes of it is a new branch, and the old one stays. */
export function EditMessage({ item }: { item: UserMessageItem }) {
  const [text, setText] = useState(() => draftOf(item));
  const [keepAttachments, setKeep] = useState(true);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const enterSends = useEnterSends();
  const box = useRef<HTMLTextAreaElement>(null);
  const key = useRef(newKey());
  const attached = attachedTo(item);
  useEffect(() => {
    const { current } = box;
    current?.focus();
    current?.setSelectionRange(current.value.length, current.value.length);
  }, []);
  const isEmpty = !text.trim() && !(keepAttachments && attached.length);
  const edit = (next: string) => {
    drafts.set(item.id, next);
    keepEdit(item.conversationId, { itemId: item.id, text: next });
    key.current = newKey();
    setText(next);
  };
  const attempt = async () => {
    const whenBusy = item.runId ? await askBefore(item.runId, true) : "finish";
    if (!whenBusy) return;
    await sendEdited(item, { text, keepAttachments, whenBusy, key: key.current });
    forget(item);
  };
  const send = () => {
    if (isBusy || isEmpty) return;
    setBusy(true);
    setProblem("");
    attempt()
      .catch((error: unknown) => setProblem(`Not sent; your changes are still here. ${stillToSay(error)}`.trim()))
      .finally(() => setBusy(false));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && !event.nativeEvent.isComposing) {
      event.preventDefault();
      return leave(item);
    }
    if (!sends(event.nativeEvent, enterSends)) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      className={classes.edit}
      aria-label="Edit the message"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Textarea ref={box} aria-label="Message, edited" autosize minRows={1} maxRows={14} value={text} onChange={(event) => edit(event.currentTarget.value)} onKeyDown={onKeyDown} />
      {attached.length > 0 && (
        <Checkbox
          size="sm"
          label={`Keep ${attached.length === 1 ? attached[0] : `${attached.length} attachments`}`}
          description={attached.length > 1 ? attached.join(", ") : undefined}
          checked={keepAttachments}
          onChange={(event) => {
            key.current = newKey();
            setKeep(event.currentTarget.checked);
          }}
        />
      )}
      {problem && (
        <p className={`ph-bad ${classes.problem}`} role="alert">
          <Said text={problem} />
        </p>
      )}
      <div className="ph-actions">
        <span className={classes.note}>The message and its answer stay, beside the new one.</span>
        <Button size="compact-sm" variant="default" onClick={() => leave(item)}>
          Cancel
        </Button>
        <Button size="compact-sm" type="submit" aria-label="Send the edited message" loading={isBusy} disabled={isEmpty}>
          Send
        </Button>
      </div>
    </form>
  );
}
