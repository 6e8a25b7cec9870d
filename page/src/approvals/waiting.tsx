import { Button } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { authority, type PendingApproval } from "../api/authority";
import { known } from "../api/items";
import type { Conversation } from "../api/types";
import { Seen } from "../servers/Plain";
import { itemPath, navigate } from "../shell/router";
import { getState, setState } from "../store/store";
import { titleOf } from "./asked";
import classes from "./Waiting.module.css";

/** Several questions come at once; one look finds them all. */
const GATHER_MS = 250;
const TOAST_MS = 15_000;

const toastId = (conversationId: string) => `waiting-${conversationId}`;

/** Return the questions that are new and stand in a conversation that is not open; one for each conversation. */
export function news(
  before: readonly PendingApproval[],
  now: readonly PendingApproval[],
  openId: string | null,
): PendingApproval[] {
  const known = new Set(before.map(({ itemId }) => itemId));
  const told = new Map<string, PendingApproval>();
  for (const one of now) {
    const isNews = !known.has(one.itemId) && one.conversationId !== openId && !told.has(one.conversationId);
    if (isNews) told.set(one.conversationId, one);
  }
  return [...told.values()];
}

/** Return what a question about a call carries; null of any other question. */
export const approvalOf = ({ data }: PendingApproval) => (data.kind === "approval" ? data : null);

/** Return a question in a line. */
export function questionOf(one: PendingApproval): string {
  const data = approvalOf(one);
  return data ? titleOf({ text: one.text, data }) : one.text;
}

function tellOf(one: PendingApproval): void {
  const id = toastId(one.conversationId);
  const go = () => {
    notifications.hide(id);
    navigate(itemPath(one.conversationId, one.itemId));
  };
  notifications.show({
    id,
    message: (
      <span className={classes.toast}>
        <span className={classes.toastText}>
          <strong>{one.title || "A conversation"}</strong> waits for you: <Seen text={questionOf(one)} />
        </span>
        <Button size="compact-sm" variant="light" onClick={go}>
          Go there
        </Button>
      </span>
    ),
    autoClose: TOAST_MS,
    withCloseButton: true,
  });
}

let asked = 0;

/** Ask what waits for the person; tells of what is new elsewhere, except when the page begins. */
export async function refreshWaiting(isBeginning = false): Promise<void> {
  const mine = ++asked;
  const all = await authority.approvals();
  // Only the newest answer counts.
  if (mine !== asked) return;
  const pending = all.pending.map((one) => ({ ...one, data: known(one.data) }));
  const { waiting, open } = getState();
  setState({ waiting: pending });
  for (const one of waiting) {
    const isOver = !pending.some(({ conversationId }) => conversationId === one.conversationId);
    if (isOver) notifications.hide(toastId(one.conversationId));
  }
  if (!isBeginning) news(waiting, pending, open?.conversation.id ?? null).forEach(tellOf);
}

let timer: ReturnType<typeof setTimeout> | undefined;

/** Hear of a conversation that changed: something in it may wait now, or no longer. */
export function hearOf(before: Conversation | undefined, now: Conversation): void {
  const isConcerned = now.activity === "waiting" || before?.activity === "waiting" || now.deletedAt !== null;
  if (isConcerned) lookAgain();
}

/** Look what waits in a moment: something was asked or answered, in whichever conversation. */
export function lookAgain(): void {
  clearTimeout(timer);
  timer = setTimeout(() => void refreshWaiting().catch(() => undefined), GATHER_MS);
}
