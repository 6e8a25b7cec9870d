import { api, ApiError, errorText } from "../api/client";
import { isStartedAnew, onRenewed, onSignedInElsewhere, renewForDocument } from "../api/csrf";
import { openWire } from "../api/line";
import type { Conversation, PageState, SocketFrame } from "../api/types";
import { hearOf, lookAgain, refreshWaiting } from "../approvals/waiting";
import { callbackPath, currentRoute, navigate, onRoute } from "../shell/router";
import { withBranches } from "./branches";
import { fromSnapshot, type ConversationState } from "./conversation";
import { fetchBesideAnew, hearBeside } from "./beside";
import { foldAll } from "./fold";
import { visit } from "./leaves";
import { askFor, hear, isAboutServer, toast } from "./servers";
import { answerHeld, holdAnswer } from "./signInAnswer";
import { FeedSocket } from "./socket";
import { getState, setState } from "./store";
import { hearOfTodos } from "./todos";

/** A tab that was away this long may hold a connection that died in its sleep. */
const STALE_AFTER_MS = 30_000;

const socket = new FeedSocket({
  open: () => openWire("/api/ws"),
  onFrame: receive,
  onConnection: (connection) => setState({ connection }),
  onBack: () => void refreshLists(),
  // A refused handshake looks like a broken line; a plain request can tell the difference.
  onTrouble: () => void refreshLists(),
  isOnline: () => navigator.onLine,
});

/** Connect now, without waiting for the next try. */
export const reconnect = () => socket.connect();

/** Hear nothing more, and do not try to. */
export const hangUp = () => socket.close();

/** Put a conversation in its place in the list, or take it out when it was deleted. */
export function listed(list: readonly Conversation[], changed: Conversation): Conversation[] {
  const others = list.filter((conversation) => conversation.id !== changed.id);
  if (changed.deletedAt !== null) return others;
  return [changed, ...others].sort((a, b) => b.updatedAt - a.updatedAt);
}

function receive(frame: SocketFrame): void {
  switch (frame.op) {
    case "events":
      return receiveEvents(frame);
    case "conversation":
      hearOf(getState().conversations.find(({ id }) => id === frame.conversation.id), frame.conversation);
      return setState((now) => ({ conversations: listed(now.conversations, frame.conversation) }));
    case "models":
      return setState({ models: frame.models });
    case "servers":
      return hear(frame.servers);
    case "topics":
      return setState({ topics: frame.topics.topics });
    case "todos":
      return hearOfTodos(frame.topicId, frame.todos);
    case "notice":
      if (isAboutServer(frame)) return toast(frame);
      // Whether the rules can be read is part of the settings: also of a page that is opened later.
      if (frame.code === "policy") return void refreshLists();
      if (frame.code === "store" && frame.level === "info") lookAround();
      return setState({ notice: { level: frame.level, code: frame.code, message: frame.message } });
    case "input":
      return lookAgain();
    case "lagged":
      if (getState().open?.conversation.id !== frame.conversationId) return;
      fetchBesideAnew(frame.conversationId);
      return loadAgain();
    default:
      setState((now) => ({ unknownFrames: now.unknownFrames + 1 }));
  }
}

function receiveEvents(frame: Extract<SocketFrame, { op: "events" }>): void {
  const { open } = getState();
  if (!open || open.conversation.id !== frame.conversationId) return;
  const next = foldAll(open, frame.events);
  setState({ open: next });
  hearBeside(frame.conversationId, frame.events);
  if (next.gap && !open.gap) loadAgain();
}

/** Read the path that is shown once more; another tab may have chosen another one. */
function loadAgain(): void {
  const { open } = getState();
  if (open) void loadConversation(open.conversation.id, open.branch);
}

function follow(open: ConversationState): void {
  const id = open.conversation.id;
  socket.subscribe(id, () => {
    const now = getState().open;
    return now?.conversation.id === id ? now.lastSeq : open.lastSeq;
  });
}

function signedOut(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 401 || error.status === 403);
}

function lists(state: PageState) {
  return {
    conversations: state.conversations.conversations,
    nextConversations: state.conversations.next,
    models: state.models,
    config: state.config,
    providers: state.providers,
    builtInTools: state.builtInTools,
    topics: state.topics.topics,
  };
}

/** Take over what is known of the open conversation: that a mode ended with the program is no event of its. */
function current(open: ConversationState | null, { snapshot }: PageState): ConversationState | null {
  const now = snapshot?.conversation;
  return open && now?.id === open.conversation.id ? { ...open, conversation: now } : open;
}

async function refreshLists(): Promise<void> {
  try {
    const state = await askFor(api.state(getState().open?.conversation.id ?? null), ({ servers }) => servers);
    // Whoever had our port refused this page; the server itself does not.
    if (getState().phase.name === "signed-out") return void load();
    setState((now) => ({ ...lists(state), open: current(now.open, state) }));
    await refreshWaiting();
  } catch (error) {
    if (signedOut(error)) setState({ phase: { name: "signed-out", message: errorText(error) } });
  }
}

/** How soon a page looks again whether the database is back. */
const LOOK_AGAIN_MS = 3_000;

/** Ask again for what could not be read while the database was away. */
function lookAround(): void {
  void refreshLists();
  const route = currentRoute();
  if (route.page === "chat" && route.conversationId && !getState().open) void loadConversation(route.conversationId);
}

/** Show a path of a conversation and follow it from there. */
export function show(path: ConversationState): void {
  const before = getState().open;
  const known = before?.conversation.id === path.conversation.id ? before.branches.values() : [];
  const open = { ...path, branches: withBranches(path.branches, known) };
  setState({ open, opening: false, openProblem: null });
  visit(open.conversation.id, open.branch);
  follow(open);
}

/** Fetch a conversation as it is now, at a branch or at the one that was chosen last, and follow it from there. */
export async function loadConversation(id: string, branch: number | null = null): Promise<void> {
  try {
    const open = fromSnapshot(await api.snapshot(id, branch));
    const route = currentRoute();
    if (route.page === "chat" && route.conversationId !== id) return;
    show(open);
  } catch (error) {
    if (signedOut(error)) return setState({ phase: { name: "signed-out", message: errorText(error) } });
    setState({ opening: false, openProblem: errorText(error) });
  }
}

function routeChanged(): void {
  const route = currentRoute();
  if (route.page !== "chat") return;
  const { open } = getState();
  const before = open?.conversation.id ?? null;
  if (before === route.conversationId) return;
  if (before) socket.unsubscribe(before);
  const nothing = { open: null, beside: new Map(), branching: null, editing: null, compared: null, openProblem: null };
  setState({ ...nothing, opening: route.conversationId !== null });
  if (route.conversationId) void loadConversation(route.conversationId);
}

/** Take what a link adds out of the address, so that it stays in no history, and exchange its code for a session. */
async function exchangeCode(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  const rest = new URLSearchParams(location.search);
  if (!code && !rest.has("in")) return;
  // It only makes the address one that no cache has a page for.
  rest.delete("in");
  history.replaceState(null, "", location.pathname + (rest.size ? `?${rest}` : ""));
  if (code) await api.signIn(code);
}

function keepAwake(): void {
  let lastTick = Date.now();
  window.addEventListener("online", () => socket.connect());
  window.addEventListener("offline", () => setState({ connection: "offline" }));
  onSignedInElsewhere(() => getState().phase.name === "signed-out" && void load());
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && socket.wake());
  // Timers stand still while a laptop sleeps: a late tick means that it slept.
  setInterval(() => {
    const now = Date.now();
    if (now - lastTick > STALE_AFTER_MS && document.visibilityState === "visible") socket.connect();
    lastTick = now;
    if (getState().phase.name === "signed-out") void isStartedAnew().then((isAnew) => isAnew && void load());
  }, 5_000);
}

const WARNED = "pilothouse.plain-http";

/** Say once that others can read along: a browser calls only this machine and TLS secure. */
function warnOfPlainHttp(): void {
  if (isSecureContext || localStorage.getItem(WARNED)) return;
  localStorage.setItem(WARNED, "said");
  const message =
    "This page comes over the network in plain HTTP: whoever is on the way can read everything, your sign-in too. " +
    "Start the server with --tls-cert and --tls-key.";
  setState({ notice: { level: "warning", code: "plain_http", message } });
}

/** Read the whole state again, after a start that failed. */
export async function load(): Promise<void> {
  const route = currentRoute();
  const wanted = route.page === "chat" ? route.conversationId : null;
  try {
    const state = await askFor(api.state(wanted), ({ servers }) => servers);
    const open = state.snapshot ? fromSnapshot(state.snapshot) : null;
    const openProblem = wanted && !open ? "There is no such conversation." : null;
    setState({ phase: { name: "ready" }, ...lists(state), open, openProblem });
    warnOfPlainHttp();
    // This browser had to be let in first; what it came with is handed over now.
    if (answerHeld()) navigate(callbackPath, "replace");
    if (open) show(open);
    socket.connect();
    onRenewed(() => socket.wake());
    await refreshWaiting(true).catch(() => undefined);
  } catch (error) {
    setState({ phase: { name: signedOut(error) ? "signed-out" : "failed", message: errorText(error) } });
    // What is away comes back by itself, and so does the page.
    const isAway = error instanceof ApiError && error.status === 503;
    if (isAway) setTimeout(() => getState().phase.name === "failed" && void load(), LOOK_AGAIN_MS);
  }
}

async function enter(): Promise<void> {
  try {
    await renewForDocument();
    await exchangeCode();
  } catch (error) {
    // An old link in a browser that has a session already is no reason to stop.
    if (!signedOut(error)) return setState({ phase: { name: "failed", message: errorText(error) } });
  }
  await load();
}

/** Begin: exchange the link's code, draw the page from one request, then follow what happens. */
export async function start(): Promise<void> {
  holdAnswer();
  onRoute(routeChanged);
  keepAwake();
  // A link pasted into a tab that is already here changes only the fragment.
  window.addEventListener("hashchange", () => location.hash.startsWith("#code=") && void enter());
  await enter();
}
