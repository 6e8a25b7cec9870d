import { api } from "../api/client";
import type { Conversation, ConversationSettings, ImageInput, ItemPage, NewMessage, WhenBusy } from "../api/types";
import { conversationPath, currentRoute, navigate } from "../shell/router";
import { comparisonAtWork, stopAll } from "../compare/runs";
import { activeRun, withEarlier } from "./conversation";
import { keepPlace, type BranchPlace } from "./places";
import { listed, loadConversation } from "./session";
import { settingsNow } from "./settings";
import { getState, setState } from "./store";

/** A conversation made for a first message that was not accepted yet; the next try uses it again. */
let unusedConversation: string | null = null;

function show(conversation: Conversation): void {
  setState((now) => ({
    conversations: listed(now.conversations, conversation),
    open:
      now.open?.conversation.id === conversation.id && conversation.deletedAt === null
        ? { ...now.open, conversation }
        : now.open,
  }));
}

/** Return the conversation that the page is about, also while it is being fetched; null for the one that comes next. */
export function currentConversation(): string | null {
  const route = currentRoute();
  return route.page === "chat" ? route.conversationId : (getState().open?.conversation.id ?? null);
}

/** Return a conversation's settings as they are known, or else as the server has them. */
async function settingsOf(id: string): Promise<ConversationSettings> {
  const { open, conversations } = getState();
  const known = open?.conversation.id === id ? open.conversation : conversations.find((one) => one.id === id);
  return (known ?? (await api.snapshot(id)).conversation).settings;
}

/** The changes of settings that are on their way, one after the other: each sends all settings. */
let settling: Promise<unknown> = Promise.resolve();

/** Change settings of a conversation, or, for null, of the one that the next message starts. */
export async function changeSettings(
  change: Partial<ConversationSettings> | ((now: ConversationSettings) => Partial<ConversationSettings>),
  id: string | null = currentConversation(),
): Promise<void> {
  const changes = typeof change === "function" ? change : () => change;
  if (id === null) return setState((now) => ({ chosen: { ...now.chosen, ...changes(settingsNow(now)) } }));
  const changed = settling.then(async () => {
    const now = await settingsOf(id);
    show(await api.changeSettings(id, { ...now, ...changes(now) }));
  });
  settling = changed.catch(() => undefined);
  return changed;
}

export interface Outgoing {
  text: string;
  images: ImageInput[];
  /** The ids of documents that the server has read. */
  documents: string[];
  key: string;
  /** Whether the model is asked to think first, or not to; null leaves it to the conversation. */
  thinking: boolean | null;
  /** The models that answer it side by side; null for the one that answers here. */
  compared?: readonly string[] | null;
  /** Of one that makes a branch: what becomes of answers at work that it leaves behind. */
  whenBusy?: WhenBusy;
}

/** Return the conversation for a first message: a new one, or that of a try that failed, with what was chosen since. */
async function begun(settings: ConversationSettings | null): Promise<string> {
  if (unusedConversation === null) unusedConversation = (await api.newConversation(settings)).id;
  else if (settings) await api.changeSettings(unusedConversation, settings);
  return unusedConversation;
}

/** Post a message, for one model or for several side by side; returns the branch that it stands in. */
async function post(id: string, message: NewMessage, compared: readonly string[] | null): Promise<number> {
  if (!compared) return (await api.send(id, message)).branch;
  const { accepted } = await api.compare(id, { message, modelIds: [...compared] });
  return accepted[0]?.branch ?? 0;
}

/** Return how a message says where it begins a branch. */
const placed = ({ runId, itemId, instead }: BranchPlace): Partial<NewMessage> =>
  instead ? { insteadOf: itemId, keepAttachments: false } : { after: runId };

/** Send a message and return its conversation, which it starts when none is open. Throws when it was not accepted. */
export async function sendMessage({ text, images, documents, key, thinking, whenBusy = "finish", compared = null }: Outgoing): Promise<string> {
  const state = getState();
  const { open, branching: place } = state;
  // What nobody chose is left to the server: it has the active profile as it is now.
  const settings = Object.keys(state.chosen).length > 0 ? settingsNow(state) : null;
  // What was chosen before it was sent holds for it.
  await settling;
  const id = open?.conversation.id ?? (await begun(settings));
  const where = place ? { ...placed(place), whenBusy } : { branch: open?.branch ?? null };
  const branch = await post(id, { text, images, documents, idempotencyKey: key, thinking, ...where }, compared);
  if (place) keepPlace(id, null);
  setState((now) => ({ sent: now.sent + 1, branching: null, compared: null }));
  if (open && branch !== open.branch) await loadConversation(id, branch);
  if (open) return id;
  unusedConversation = null;
  setState({ chosen: {} });
  const route = currentRoute();
  if (route.page === "chat" && route.conversationId === null) navigate(conversationPath(id));
  return id;
}

/** Have what was said so far summed up, and above all what these words name; throws when that was not accepted. */
export async function compactConversation(keep: string): Promise<string> {
  const id = getState().open?.conversation.id;
  if (!id) throw new Error("There is nothing to sum up yet.");
  await api.compact(id, keep);
  setState((now) => ({ sent: now.sent + 1 }));
  return id;
}

/** Stop the run of the open conversation. */
export async function stopRun(): Promise<void> {
  const group = comparisonAtWork();
  if (group) return stopAll(group);
  const run = activeRun(getState().open);
  if (run) await api.cancelRun(run.id);
}

/** Fetch older items of the open conversation; returns whether there were any. */
export async function loadEarlier(): Promise<boolean> {
  const { open } = getState();
  const first = open?.items.get(open.order[0] ?? "");
  if (!open?.hasEarlier || !first) return false;
  const page = await api.items(open.conversation.id, first.position, open.branch);
  const now = getState().open;
  if (now?.conversation.id !== open.conversation.id || now.branch !== open.branch) return false;
  setState({ open: withEarlier(now, page) });
  return page.items.length > 0;
}

/** Make sure that an item of the open conversation is here; returns whether it exists. */
export async function loadUntil(itemId: string): Promise<boolean> {
  while (!getState().open?.items.has(itemId)) {
    if (!(await loadEarlier())) return false;
  }
  return true;
}

/** Return the branch that an item of a conversation stands in; null where there is no such item. */
export async function branchOf(id: string, itemId: string): Promise<number | null> {
  let before: number | null = null;
  for (;;) {
    const page: ItemPage = await api.items(id, before, null, 500);
    const found = page.items.find((item) => item.id === itemId);
    if (found) return found.branch;
    if (!page.hasEarlier) return null;
    before = page.items[0]?.position ?? 0;
  }
}

/** Fetch older conversations of the list. */
export async function loadMoreConversations(): Promise<void> {
  const { nextConversations } = getState();
  if (!nextConversations) return;
  const page = await api.conversations(nextConversations);
  setState((now) => {
    const known = new Set(now.conversations.map((conversation) => conversation.id));
    const older = page.conversations.filter((conversation) => !known.has(conversation.id));
    return { conversations: [...now.conversations, ...older], nextConversations: page.next };
  });
}

/** Give a conversation another name. */
export async function renameConversation(id: string, title: string): Promise<void> {
  show(await api.renameConversation(id, title));
}

/** Delete a conversation; `restoreConversation` brings it back. */
export async function deleteConversation(id: string): Promise<void> {
  await api.deleteConversation(id);
  setState((now) => ({ conversations: now.conversations.filter((conversation) => conversation.id !== id) }));
  if (getState().open?.conversation.id === id) navigate("/");
}

/** Bring a deleted conversation back. */
export async function restoreConversation(id: string): Promise<void> {
  show(await api.restoreConversation(id));
}
