import { ActionIcon, Button, SegmentedControl, Tooltip } from "@mantine/core";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Run } from "../api/types";
import { Column } from "../compare/Column";
import { modelOf } from "../compare/facts";
import { isAtWork } from "../compare/group";
import { useCommands } from "../shell/commands";
import { CloseIcon, PlusIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { modelName } from "../shell/ModelSelector";
import { conversationPath, navigate, replayPath } from "../shell/router";
import { Loading } from "../shell/Standstill";
import { loadUntil } from "../store/actions";
import { followBeside, reachBeside } from "../store/beside";
import { getState, useApp, type AppState } from "../store/store";
import { Difference } from "./Difference";
import classes from "./Replay.module.css";
import { ReplayForm } from "./ReplayForm";
import { ReplayList } from "./ReplayList";
import { useDifference, useReplays, useRun } from "./useReplays";
import { wishWords } from "./words";

/** Return a branch as it is drawn: the open one, or one beside it. */
const drawn = ({ open, beside }: AppState, branch: number) => (open?.branch === branch ? open : (beside.get(branch) ?? null));

/** Return the model that answers in a run, by its id. */
const modelIn = (state: AppState, run: Run) => modelOf(drawn(state, run.branch), run);

/** Have the branches of both runs here, and of the original what it said, however long ago that was. */
function useBoth(conversationId: string, original: Run, branch: number | null): void {
  const openBranch = useApp(({ open }) => open?.branch ?? 0);
  const wanted = [original.branch, branch].filter((each) => each !== null && each !== openBranch).join(" ");
  useEffect(() => followBeside(conversationId, wanted.split(" ").filter(Boolean).map(Number)), [conversationId, wanted]);
  const isHere = useApp((state) => drawn(state, original.branch) !== null);
  useEffect(() => {
    if (!isHere) return;
    const isOpen = getState().open?.branch === original.branch;
    const reached = isOpen ? loadUntil(original.messageItemId) : reachBeside(original.branch, original.messageItemId);
    reached.catch(tell);
  }, [isHere, original.branch, original.messageItemId]);
}

type View = "live" | "difference";

interface ReplayedProps {
  original: Run;
  branch: number;
  runId: string;
}

/** One replay beside its original: live while it is at work, then how they differ. */
function Replayed({ original, branch, runId }: ReplayedProps) {
  const { run } = useRun(runId);
  const difference = useDifference(original, run);
  const [chosen, setChosen] = useState<View | null>(null);
  const isEnded = run !== null && !isAtWork(run);
  const view = isEnded ? (chosen ?? "difference") : "live";
  const names = useApp((state) => `${modelName(state, difference?.before.model ?? "")}\n${modelName(state, difference?.after.model ?? "")}`);
  const [before = "", after = ""] = names.split("\n");
  if (!run) return <Loading />;
  return (
    <>
      {isEnded && (
        <SegmentedControl
          className={classes.views ?? ""}
          size="xs"
          aria-label="View"
          value={view}
          onChange={(value) => setChosen(value as View)}
          data={[
            { value: "difference", label: "Difference" },
            { value: "live", label: "Side by side" },
          ]}
        />
      )}
      {view === "live" ? (
        <div className={classes.columns}>
          <Column member={{ branch: original.branch, runId: original.id }} title="Original" />
          <Column member={{ branch, runId }} title="Replay" note={wishWords(run)} />
        </div>
      ) : difference ? (
        <div className={classes.scroller} tabIndex={0} role="region" aria-label="Difference">
          <Difference difference={difference} names={[before, after]} />
        </div>
      ) : (
        <Loading />
      )}
    </>
  );
}

interface Props {
  conversationId: string;
  runId: string;
  branch: number | null;
}

function Original({ conversationId, original, branch }: Omit<Props, "runId"> & { original: Run }) {
  const replays = useReplays(original.id, branch);
  const model = useApp((state) => modelIn(state, original));
  const shown = useApp(({ open }) => (branch === null ? null : (open?.branches.get(branch)?.runId ?? null)));
  useBoth(conversationId, original, shown ? branch : null);
  const text = useApp((state) => drawn(state, original.branch)?.items.get(original.messageItemId)?.text ?? "");
  const go = (to: number | null) => navigate(replayPath(conversationId, original.id, to));
  const isKnown = useApp((state) => drawn(state, original.branch)?.items.has(original.messageItemId) ?? false);
  return (
    <>
      <p className={classes.asked} title={text}>
        {text}
      </p>
      {(replays?.length ?? 0) > 0 && <ReplayList replays={replays ?? []} shown={branch} onShow={go} />}
      {branch === null && isKnown && <ReplayForm original={original} model={model} onStarted={go} />}
      {branch !== null && shown && <Replayed key={shown} original={original} branch={branch} runId={shown} />}
      {branch !== null && !shown && !replays && <Loading />}
      {branch !== null && !shown && replays && (
        <div className={classes.form}>
          <p role="alert">There is no such replay.</p>
          <Button variant="default" onClick={() => go(null)}>
            Start a new one
          </Button>
        </div>
      )}
    </>
  );
}

/** The replays of an answer: a new one, or one beside the original. */
export default function ReplayView({ conversationId, runId, branch }: Props) {
  const { run, problem } = useRun(runId);
  const heading = useRef<HTMLHeadingElement>(null);
  const leave = () => navigate(conversationPath(conversationId));
  useCommands(useMemo(() => [{ id: "close-replay", title: "Close the replay", keys: ["escape"], group: "Chat", run: leave }], [conversationId]));
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <div className={classes.view}>
      <header className={classes.head}>
        <h1 ref={heading} tabIndex={-1} className={classes.title}>
          Replay
        </h1>
        {branch !== null && (
          <Button size="compact-sm" variant="default" leftSection={<PlusIcon size={15} />} onClick={() => navigate(replayPath(conversationId, runId))}>
            New replay
          </Button>
        )}
        <Tooltip label="Back to the conversation">
          <ActionIcon size="lg" aria-label="Close the replay" onClick={leave}>
            <CloseIcon />
          </ActionIcon>
        </Tooltip>
      </header>
      {problem && !run && <p role="alert">{problem}</p>}
      {!problem && !run && <Loading />}
      {run && <Original conversationId={conversationId} original={run} branch={branch} />}
    </div>
  );
}
