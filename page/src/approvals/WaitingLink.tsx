import type { MouseEvent } from "react";
import { counted } from "../servers/words";
import { QuestionIcon } from "../shell/icons";
import { navigate, useRoute, waitingPath } from "../shell/router";
import { useApp } from "../store/store";
import classes from "./Waiting.module.css";

/** The way to everything that waits for the person, with how much it is. */
export function WaitingLink() {
  const count = useApp((state) => state.waiting.length);
  const isHere = useRoute().page === "waiting";
  const go = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    navigate(waitingPath);
  };
  return (
    <a
      className={classes.link}
      href={waitingPath}
      aria-current={isHere ? "page" : undefined}
      data-some={count > 0 || undefined}
      onClick={go}
    >
      <QuestionIcon size={16} />
      <span className={classes.linkText}>Waiting for you</span>
      {count > 0 && (
        <span className={classes.badge} aria-label={counted(count, "question")}>
          {count}
        </span>
      )}
    </a>
  );
}
