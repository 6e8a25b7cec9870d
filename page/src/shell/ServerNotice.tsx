import { CloseButton, Group } from "@mantine/core";
import { setState, useApp } from "../store/store";
import classes from "./App.module.css";
import { useRoute } from "./router";

/** What concerns the whole server: a full disk, a database that is away, a models file that cannot be read. */
export function ServerNotice() {
  const notice = useApp((state) => state.notice);
  const route = useRoute();
  const problem = useApp((state) => state.models.problem);
  // The Models tab tells it itself, with more words.
  const isToldBelow = route.page === "settings" && route.tab === "models";
  return (
    <div role="status">
      {notice && (
        <Group className={classes.notice} data-level={notice.level} wrap="nowrap" justify="space-between">
          <span>{notice.message}</span>
          <CloseButton size="sm" aria-label="Dismiss" onClick={() => setState({ notice: null })} />
        </Group>
      )}
      {problem && !isToldBelow && (
        <div className={classes.notice} data-level="warning">
          {problem.file}
          {problem.line !== null && `, line ${problem.line}`}: {problem.message} The last good version stays in force.
        </div>
      )}
    </div>
  );
}
