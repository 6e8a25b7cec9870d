import { hands } from "../api/hands";
import type { Todo, TodoList } from "../api/types";
import { getState, setState } from "./store";

/** Return the newer one of what is known and what an item or its update brought; anything that is no list leaves it as it is. */
export function newerTodos(known: TodoList, told: object): TodoList {
  const { todos: list } = told as { todos?: Partial<TodoList> | null };
  if (!Array.isArray(list?.todos)) return known;
  const updatedAt = list.updatedAt ?? 0;
  return updatedAt >= known.updatedAt ? { todos: list.todos, updatedAt } : known;
}

function draw(conversationId: string, list: TodoList): void {
  setState((now) => (now.open?.conversation.id === conversationId ? { open: { ...now.open, todos: list } } : {}));
}

/** Take over what another conversation of the same topic did to the list that they share. */
export function hearOfTodos(topicId: string, list: TodoList): void {
  const { open } = getState();
  if (open?.conversation.settings.topicId === topicId) draw(open.conversation.id, newerTodos(open.todos, { todos: list }));
}

/** Show the list of the place that a conversation has moved to, whenever that was last changed. */
export async function takeTodos(conversationId: string): Promise<void> {
  draw(conversationId, await hands.todos(conversationId));
}

/** Look whether the list was changed elsewhere: at another device nothing tells of what a person ticked. */
export async function lookAtTodos(): Promise<void> {
  const { open } = getState();
  if (!open) return;
  const told = await hands.todos(open.conversation.id);
  const now = getState().open;
  if (now?.conversation.id === open.conversation.id) draw(open.conversation.id, newerTodos(now.todos, { todos: told }));
}

/** Let the person's list be the one that counts; what the server made of it is drawn. */
export async function keepTodos(todos: Todo[]): Promise<void> {
  const { open } = getState();
  if (!open) return;
  draw(open.conversation.id, await hands.keepTodos(open.conversation.id, todos));
}
