import { known, knownItem } from "../api/items";
import type { Event, Item, Run } from "../api/types";
import { withBranchOf } from "./branches";
import { isHidden, type ConversationState } from "./conversation";
import { newerTodos } from "./todos";

type DeltaEvent = Extract<Event, { type: "item.delta" }>;

/** A state being changed: the maps are fresh copies that may be written to. */
interface Draft extends ConversationState {
  items: Map<string, Item>;
  order: string[];
  runs: Map<string, Run>;
  kept: Map<string, number>;
}

function keptOf(draft: Draft, item: Item): number {
  return draft.kept.get(item.id) ?? item.text.length;
}

function place(draft: Draft, item: Item): void {
  if (!draft.items.has(item.id)) {
    const at = draft.order.findLastIndex((id) => (draft.items.get(id)?.position ?? 0) <= item.position);
    draft.order = [...draft.order.slice(0, at + 1), item.id, ...draft.order.slice(at + 1)];
  }
  draft.items.set(item.id, item);
  draft.kept.delete(item.id);
}

/** Text that is kept: it replaces live text that turned out otherwise. What was sent live is only named by its end. */
function keepText(draft: Draft, item: Item, event: DeltaEvent): void {
  if (event.offset > item.text.length) {
    draft.gap = true;
    return;
  }
  const from = Math.max(keptOf(draft, item), event.offset);
  const rest = event.text.slice(from - event.offset);
  const isHere = item.text.startsWith(rest, from);
  draft.kept.set(item.id, from + rest.length);
  if (!isHere) draft.items.set(item.id, { ...item, text: item.text.slice(0, from) + rest });
}

/** Text that is only live: the part beyond what is here is taken; after a hole it waits for the kept text. */
function showText(draft: Draft, item: Item, event: DeltaEvent): void {
  const known = item.text.length - event.offset;
  const rest = known < 0 ? "" : event.text.slice(known);
  if (!rest || item.status !== "streaming") return;
  draft.kept.set(item.id, keptOf(draft, item));
  draft.items.set(item.id, { ...item, text: item.text + rest });
}

/** What an update tells replaces what was carried under the same names; it is of the item's own kind. */
const patched = (item: Item, patch: Record<string, unknown>) => ({ ...item, data: { ...item.data, ...known(patch) } }) as Item;

/** Tell whether a new item stands on the path: of branches that lead to it, only runs that do go on there. */
const isOnPath = (draft: Draft, { branch, runId }: Item) => branch === draft.branch || (runId !== null && draft.runs.has(runId));

const isUnderWay = ({ status }: Run) => status === "queued" || status === "running" || status === "waiting";

function placeRun(draft: Draft, run: Run): void {
  const isHere = run.branch === draft.branch || draft.runs.has(run.id) || draft.items.has(run.messageItemId);
  if (isHere) return void draft.runs.set(run.id, run);
  if (!isUnderWay(run) && !draft.elsewhere.has(run.id)) return;
  const elsewhere = new Map(draft.elsewhere);
  if (isUnderWay(run)) elsewhere.set(run.id, run);
  else elsewhere.delete(run.id);
  draft.elsewhere = elsewhere;
}

/** Keep which items are hidden; the set stays the same while none of them changes. */
function keepHidden(draft: Draft, item: Item): void {
  if (isHidden(item) === draft.hidden.has(item.id)) return;
  const hidden = new Set(draft.hidden);
  if (isHidden(item)) hidden.add(item.id);
  else hidden.delete(item.id);
  draft.hidden = hidden;
}

function withItem(draft: Draft, id: string, change: (item: Item) => void): void {
  const item = draft.items.get(id);
  if (item) change(item);
}

function apply(draft: Draft, event: Event): void {
  switch (event.type) {
    case "item.created": {
      const item = knownItem(event.item);
      draft.branches = withBranchOf(draft.branches, item);
      if (item.branch > draft.conversation.branches) draft.conversation = { ...draft.conversation, branches: item.branch };
      if (!isOnPath(draft, item)) return;
      // A person's own change of the list is told by a notice.
      draft.todos = newerTodos(draft.todos, item.data);
      return place(draft, item);
    }
    case "item.delta":
      return withItem(draft, event.itemId, (item) => (event.seq ? keepText : showText)(draft, item, event));
    case "item.updated":
      return withItem(draft, event.itemId, (item) => {
        const now = { ...patched(item, event.data), status: event.status ?? item.status, updatedAt: event.at || item.updatedAt };
        draft.items.set(item.id, now);
        keepHidden(draft, now);
        draft.todos = newerTodos(draft.todos, event.data);
      });
    case "item.completed":
      return withItem(draft, event.itemId, (item) => {
        const text = item.text.slice(0, keptOf(draft, item));
        draft.items.set(item.id, { ...patched(item, event.data), text, status: event.status, updatedAt: event.at || item.updatedAt });
        draft.kept.delete(item.id);
        draft.todos = newerTodos(draft.todos, event.data);
      });
    case "run.updated":
      return placeRun(draft, event.run);
    case "conversation.updated":
      draft.conversation = event.conversation;
      return;
    default:
      draft.unknownEvents += 1;
  }
}

/** Return the state after some events. An event that was seen is skipped; a missing one marks a gap. */
export function foldAll(state: ConversationState, events: readonly Event[]): ConversationState {
  const draft: Draft = {
    ...state,
    items: new Map(state.items),
    order: state.order as string[],
    runs: new Map(state.runs),
    kept: new Map(state.kept),
  };
  for (const event of events) {
    if (draft.gap) break;
    if (event.seq && event.seq <= draft.lastSeq) continue;
    if (event.seq > draft.lastSeq + 1) {
      draft.gap = true;
      break;
    }
    if (event.seq) draft.lastSeq = event.seq;
    apply(draft, event);
  }
  // A map that did not change keeps its identity, so that what draws it rests.
  const isRun = (event: Event) => event.type === "run.updated" && draft.runs.has(event.run.id);
  if (!events.some(isRun)) draft.runs = state.runs as Draft["runs"];
  return draft;
}

/** Return the state after one event. */
export function fold(state: ConversationState, event: Event): ConversationState {
  return foldAll(state, [event]);
}
