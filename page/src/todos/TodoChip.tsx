import { memo } from "react";
import { showPanel } from "../panel/state";
import { ClipboardIcon } from "../shell/icons";
import { activeRun } from "../store/conversation";
import { useApp } from "../store/store";
import { progressOf } from "./progress";
import classes from "./Todos.module.css";

/** How far the list is, in a few words beside the box, while a run works. */
export const TodoChip = memo(() => {
  const todos = useApp((state) => state.open?.todos.todos);
  const isWorking = useApp((state) => activeRun(state.open) !== null);
  if (!isWorking || !todos?.length) return null;
  const { done, total, current } = progressOf(todos);
  const words = `${done} of ${total}`;
  return (
    <button
      type="button"
      className={classes.chip}
      aria-label={`${words} todos done${current ? `, now: ${current.title}` : ""}. Show the todos`}
      onClick={() => showPanel("todos")}
    >
      <ClipboardIcon size={14} />
      <span>{words}</span>
      {current && <span className={classes.chipTitle}>{current.title}</span>}
    </button>
  );
});
