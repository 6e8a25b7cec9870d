import { UnstyledButton } from "@mantine/core";
import type { Run } from "../api/types";
import { modelName } from "../shell/ModelSelector";
import { when } from "../shell/time";
import { useApp } from "../store/store";
import classes from "./Replay.module.css";
import { useKnownRun, type Replay } from "./useReplays";
import { wishWords } from "./words";

const states: Partial<Record<Run["status"], string>> = {
  queued: "waits",
  running: "at work",
  waiting: "waits for you",
  failed: "stopped early",
  cancelled: "stopped by you",
  interrupted: "interrupted",
};

interface RowProps {
  replay: Replay;
  isShown: boolean;
  onShow: () => void;
}

function Row({ replay, isShown, onShow }: RowProps) {
  const now = useKnownRun(replay.run.id) ?? replay.run;
  const name = useApp((state) => modelName(state, now.options.modelId ?? ""));
  const about = [wishWords(now), states[now.status], when(now.createdAt)].filter(Boolean).join(" · ");
  return (
    <li>
      <UnstyledButton className={classes.replay} aria-current={isShown ? "true" : undefined} onClick={onShow}>
        <span className={classes.replayName}>{name}</span>
        <span className={classes.replayAbout}>{about}</span>
      </UnstyledButton>
    </li>
  );
}

interface ListProps {
  replays: readonly Replay[];
  /** The branch of the one that is looked at. */
  shown: number | null;
  onShow: (branch: number) => void;
}

/** The earlier replays of an answer, the newest first. */
export function ReplayList({ replays, shown, onShow }: ListProps) {
  return (
    <nav aria-label="Replays of this answer">
      <ul className={classes.replays}>
        {replays.map((replay) => (
          <Row key={replay.branch} replay={replay} isShown={replay.branch === shown} onShow={() => onShow(replay.branch)} />
        ))}
      </ul>
    </nav>
  );
}
