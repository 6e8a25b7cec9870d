import type { UndoConflict } from "../api/types";
import { WarningIcon } from "../shell/icons";
import { seenFrom } from "../shell/paths";
import { useFolder } from "../shell/useFolder";
import classes from "./Diff.module.css";
import { DiffView } from "./DiffView";

/** Return why, without naming the file once more. */
const reason = (path: string, why: string) => (why.startsWith(path) ? `It${why.slice(path.length)}` : why);

/** Files that were not put back because someone changed them since: why, and what changed. */
export function Conflicts({ conflicts }: { conflicts: readonly UndoConflict[] }) {
  const folder = useFolder();
  if (!conflicts.length) return null;
  return (
    <div role="alert">
      {conflicts.map(({ path, why, diff }) => (
        <div key={path}>
          <p className={`ph-with-icon ${classes.conflict}`}>
            <WarningIcon size={15} />
            <span>
              <code>{seenFrom(folder, path)}</code> was left as it is. {reason(path, why)}
            </span>
          </p>
          {diff && <DiffView diff={diff} title={seenFrom(folder, path)} remark="what undoing would take away" />}
        </div>
      ))}
    </div>
  );
}
