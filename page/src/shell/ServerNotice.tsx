import { CloseButton, Group } from "@mantine/core";
import type { FileProblem } from "../api/types";
import { setState, useApp } from "../store/store";
import classes from "./App.module.css";
import { useRoute, type SettingsTab } from "./router";
import { Said } from "./Said";

interface FileNoticeProps {
  problem: FileProblem | null | undefined;
  /** The tab of the settings that tells it itself, with more words. */
  tab: SettingsTab;
  /** What holds meanwhile. */
  children: string;
}

function FileNotice({ problem, tab, children }: FileNoticeProps) {
  const route = useRoute();
  if (!problem || (route.page === "settings" && route.tab === tab)) return null;
  return (
    <div className={`ph-warning ${classes.notice}`}>
      {problem.file}
      {problem.line !== null && `, line ${problem.line}`}: {problem.message} {children}
    </div>
  );
}

const tints = { info: "", warning: "ph-warning", error: "ph-bad" };

/** What concerns the whole server: a full disk, a database that is away, a file that cannot be read. */
export function ServerNotice() {
  const notice = useApp((state) => state.notice);
  const models = useApp((state) => state.models.problem);
  const rules = useApp((state) => state.config?.rulesProblem);
  return (
    <div role="status">
      {notice && (
        <Group className={`${tints[notice.level]} ${classes.notice}`} wrap="nowrap" justify="space-between">
          <span><Said text={notice.message} /></span>
          <CloseButton size="sm" aria-label="Dismiss" onClick={() => setState({ notice: null })} />
        </Group>
      )}
      <FileNotice problem={models} tab="models">
        The last good version stays in force.
      </FileNotice>
      <FileNotice problem={rules} tab="permissions">
        Nothing is allowed by rule.
      </FileNotice>
    </div>
  );
}
