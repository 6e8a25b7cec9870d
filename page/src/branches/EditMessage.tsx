import { Button, Textarea } from "@mantine/core";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import type { UserMessageItem } from "../api/types";
import { newKey } from "../composer/drafts";
import { sends, useEnterSends } from "../composer/keys";
import { stillToSay } from "../shell/messages";
import { Said } from "../shell/Said";
import { sendEdited } from "../store/branching";
import { setState } from "../store/store";
import { askBefore } from "./asking";
import { Attached, attachedTo, dropping } from "./Attached";
import classes from "./Branches.module.css";
import { keepEdit, keptEdit, type EditDraft } from "./editDrafts";

/** What was changed of messages and not sent: a line that leaves the view and comes back still has it. */
const drafts = new Map<string, EditDraft>();

/** Return what was made of a message so far, also before a reload. */
function draftOf({ id, conversationId, text }: UserMessageItem): EditDraft {
  const kept = keptEdit(conversationId);
  return drafts.get(id) ?? (kept?.itemId === id ? kept : { itemId: id, text, dropped: [] });
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
  const [draft, setDraft] = useState(() => draftOf(item));
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const enterSends = useEnterSends();
  const box = useRef<HTMLTextAreaElement>(null);
  const key = useRef(newKey());
  const { text } = draft;
  const attached = attachedTo(item);
  const dropped = new Set(draft.dropped);
  useEffect(() => {
    const { current } = box;
    current?.focus();
    current?.setSelectionRange(current.value.length, current.value.length);
  }, []);
  const isEmpty = !text.trim() && attached.every((each) => dropped.has(each.key));
  const edit = (change: Partial<EditDraft>) => {
    const next = { ...draft, ...change };
    drafts.set(item.id, next);
    keepEdit(item.conversationId, next);
    key.current = newKey();
    setDraft(next);
  };
  const toggle = (one: string) => edit({ dropped: dropped.has(one) ? draft.dropped.filter((other) => other !== one) : [...draft.dropped, one] });
  const attempt = async () => {
    const whenBusy = item.runId ? await askBefore(item.runId, true) : "finish";
    if (!whenBusy) return;
    await sendEdited(item, { text, ...dropping(attached, dropped), whenBusy, key: key.current });
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
      data-edit
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Textarea ref={box} aria-label="Message, edited" autosize minRows={1} maxRows={14} value={text} onChange={(event) => edit({ text: event.currentTarget.value })} onKeyDown={onKeyDown} />
      <Attached attached={attached} dropped={dropped} onToggle={toggle} />
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
