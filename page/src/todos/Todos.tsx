import { Button, Checkbox } from "@mantine/core";
import { useEffect, useState } from "react";
import type { Todo } from "../api/types";
import { Confirm } from "../settings/Confirm";
import { tell } from "../shell/messages";
import { useApp } from "../store/store";
import { keepTodos, lookAtTodos } from "../store/todos";
import { progressOf, statusOf, ticked, waitsFor } from "./progress";
import classes from "./Todos.module.css";

const statusWords = {
  "not-started": "",
  "in-progress": "In progress",
  completed: "Done",
  blocked: "Blocked",
} as const;

const priorityWords = { low: "", medium: "", high: "High priority", critical: "Critical" } as const;

function Facts({ todo, todos }: { todo: Todo; todos: readonly Todo[] }) {
  const status = statusOf(todo);
  const priority = todo.priority ? priorityWords[todo.priority] : "";
  const waits = status === "not-started" ? waitsFor(todo, todos) : [];
  const percent = status === "in-progress" && typeof todo.progress === "number" ? ` ${Math.round(todo.progress * 100)} %` : "";
  return (
    <span className={classes.facts}>
      {statusWords[status] && status !== "completed" && (
        <span className={classes.status} data-status={status}>
          {statusWords[status] + percent}
        </span>
      )}
      {priority && status !== "completed" && <span className={classes.priority}>{priority}</span>}
      {waits.length > 0 && <span>After: {waits.join(", ")}</span>}
    </span>
  );
}

function Steps({ todo }: { todo: Todo }) {
  const steps = todo.subtasks ?? [];
  if (!steps.length) return null;
  return (
    <ul className={classes.steps} aria-label={`Steps of ${todo.title}`}>
      {steps.map((step, at) => (
        <li key={at} data-done={step.done || undefined}>
          <span aria-hidden>{step.done ? "✓" : "○"}</span>
          <span>
            {step.title}
            {step.done && <span className="ph-hidden"> (done)</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}

interface RowProps {
  todo: Todo;
  todos: readonly Todo[];
  isBusy: boolean;
  onTick: (isDone: boolean) => void;
}

function Row({ todo, todos, isBusy, onTick }: RowProps) {
  const status = statusOf(todo);
  return (
    <li className={classes.row} data-status={status}>
      <Checkbox
        size="xs"
        label={todo.title}
        description={todo.description}
        checked={status === "completed"}
        indeterminate={status === "in-progress"}
        disabled={isBusy}
        classNames={{ label: classes.title ?? "", description: classes.description ?? "", body: classes.body ?? "" }}
        onChange={() => onTick(status !== "completed")}
      />
      <div className={classes.below}>
        <Facts todo={todo} todos={todos} />
        {status === "blocked" && todo.blockedReason && <p className={classes.reason}>{todo.blockedReason}</p>}
        <Steps todo={todo} />
      </div>
    </li>
  );
}

function Bar({ todos }: { todos: readonly Todo[] }) {
  const { done, total, part } = progressOf(todos);
  return (
    <div className={classes.progress}>
      <progress className={classes.bar} aria-label="Progress of the todos" value={part} max={1} />
      <span>{`${done} of ${total} done`}</span>
    </div>
  );
}

/** Look again whenever someone comes back to the page. */
function useLookAgain(): void {
  const id = useApp((state) => state.open?.conversation.id ?? null);
  useEffect(() => {
    // Out of reach for a moment; what is known stays in sight, and the next look may do better.
    const look = () => void (document.visibilityState === "visible" && lookAtTodos().catch(() => undefined));
    look();
    window.addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      window.removeEventListener("focus", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, [id]);
}

/** What the agent has set itself to do, and how far it is. */
export function Todos() {
  const todos = useApp((state) => state.open?.todos.todos);
  useLookAgain();
  const [isBusy, setBusy] = useState(false);
  const keep = (next: Todo[]) => {
    setBusy(true);
    return keepTodos(next)
      .catch(tell)
      .finally(() => setBusy(false));
  };
  if (!todos?.length) {
    return <p className={`ph-lead ${classes.empty}`}>Nothing is on the list. The agent writes down here what a larger task takes, and ticks it off.</p>;
  }
  return (
    <div className={classes.todos}>
      <div className={classes.head}>
        <Bar todos={todos} />
        <Confirm question="Clear the whole list? The agent starts with an empty one." action="Clear" onConfirm={() => keep([])}>
          {(ask) => (
            <Button size="compact-xs" variant="subtle" color="gray" disabled={isBusy} onClick={ask}>
              Clear
            </Button>
          )}
        </Confirm>
      </div>
      <ul className={classes.list} aria-label="Todos">
        {todos.map((todo) => (
          <Row key={todo.id} todo={todo} todos={todos} isBusy={isBusy} onTick={(isDone) => void keep(ticked(todos, todo.id, isDone))} />
        ))}
      </ul>
    </div>
  );
}
