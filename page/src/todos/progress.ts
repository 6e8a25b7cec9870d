import type { Todo } from "../api/types";

export interface Progress {
  done: number;
  total: number;
  /** From 0 to 1; what is under way counts by as much as it says. */
  part: number;
  /** What is being done at the moment. */
  current: Todo | null;
}

export const statusOf = (todo: Todo) => todo.status ?? "not-started";

function share(todo: Todo): number {
  if (statusOf(todo) === "completed") return 1;
  const steps = todo.subtasks ?? [];
  if (typeof todo.progress === "number") return Math.min(1, Math.max(0, todo.progress));
  return statusOf(todo) === "in-progress" && steps.length ? steps.filter(({ done }) => done).length / steps.length : 0;
}

/** Return how far a list is. */
export function progressOf(todos: readonly Todo[]): Progress {
  const total = todos.length;
  const part = total ? todos.reduce((sum, todo) => sum + share(todo), 0) / total : 0;
  return {
    done: todos.filter((todo) => statusOf(todo) === "completed").length,
    total,
    part,
    current: todos.find((todo) => statusOf(todo) === "in-progress") ?? null,
  };
}

/** Return a list in which one todo is done, or is to be done again. */
export function ticked(todos: readonly Todo[], id: number, isDone: boolean): Todo[] {
  return todos.map((todo) => (todo.id === id ? withStatus(todo, isDone ? "completed" : "not-started") : todo));
}

function withStatus({ blockedReason: _, progress: __, ...todo }: Todo, status: "completed" | "not-started"): Todo {
  return { ...todo, status };
}

/** Return the titles of what has to be done before. */
export function waitsFor(todo: Todo, todos: readonly Todo[]): string[] {
  const open = new Map(todos.filter((one) => statusOf(one) !== "completed").map((one) => [one.id, one.title]));
  return (todo.dependencies ?? []).map((id) => open.get(id)).filter((title) => title !== undefined);
}
