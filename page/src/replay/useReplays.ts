import { useEffect, useMemo, useState } from "react";
import { api } from "../api/client";
import type { Run, RunDifference } from "../api/types";
import { isAtWork } from "../compare/group";
import { tell } from "../shell/messages";
import type { Branches } from "../store/branches";
import { areAllKnown, fetchTree } from "../store/branching";
import { useApp } from "../store/store";

/** A replay of a run: its branch, and its run as it was when it was asked for. */
export interface Replay {
  branch: number;
  run: Run;
}

/** Draw with a run as far as the page knows it: of a branch that is drawn, or of one that is under way elsewhere. */
export function useKnownRun(runId: string): Run | null {
  return useApp(({ open, beside }) => {
    const drawn = [open, ...beside.values()].map((state) => state?.runs.get(runId)).find(Boolean);
    return drawn ?? open?.elsewhere.get(runId) ?? null;
  });
}

/** Draw with a run, wherever in the conversation it is; null while it is fetched, or when it is not there. */
export function useRun(runId: string): { run: Run | null; problem: string } {
  const known = useKnownRun(runId);
  const [fetched, setFetched] = useState<Run | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let isCurrent = true;
    setFetched(null);
    setProblem("");
    api.run(runId).then(
      (run) => isCurrent && setFetched(run),
      () => isCurrent && setProblem("There is no such answer in this conversation."),
    );
    return () => {
      isCurrent = false;
    };
  }, [runId]);
  return { run: known ?? fetched, problem };
}

/** Draw with all branches of the open conversation; null while they are fetched. */
export function useAllBranches(): Branches | null {
  const branches = useApp(({ open }) => open?.branches ?? null);
  const isKnown = useApp(({ open }) => areAllKnown(open));
  const id = useApp(({ open }) => open?.conversation.id ?? "");
  const [asked, setAsked] = useState("");
  useEffect(() => {
    if (!isKnown && asked !== id) fetchTree(id).then(() => setAsked(id), tell);
  }, [isKnown, asked, id]);
  return isKnown || asked === id ? branches : null;
}

/** Draw with the replays of a run, the newest first; null while they are fetched. They are asked for again when another
 * one of them is shown. */
export function useReplays(runId: string, shown: number | null): readonly Replay[] | null {
  const branches = useAllBranches();
  const wanted = useMemo(() => branches && [...branches.values()].filter(({ kind }) => kind === "replay"), [branches]);
  const key = wanted?.map(({ number }) => number).join(" ");
  const [found, setFound] = useState<readonly Replay[] | null>(null);
  useEffect(() => {
    if (!wanted) return;
    let isCurrent = true;
    Promise.all(wanted.map(async ({ number, runId: id }) => ({ branch: number, run: await api.run(id) }))).then(
      (all) => isCurrent && setFound(all.filter(({ run }) => run.options.replayOf === runId).sort((a, b) => b.branch - a.branch)),
      tell,
    );
    return () => {
      isCurrent = false;
    };
  }, [key, runId, shown]);
  return found;
}

/** Draw with how a replay differs from its original; asked again when the replay goes on or ends. */
export function useDifference(original: Run, replay: Run | null): RunDifference | null {
  const [found, setFound] = useState<RunDifference | null>(null);
  const isEnded = replay !== null && !isAtWork(replay);
  const id = replay?.id ?? "";
  const at = replay?.updatedAt ?? 0;
  useEffect(() => {
    setFound(null);
    if (!isEnded) return;
    let isCurrent = true;
    api.difference(original.id, id).then((difference) => isCurrent && setFound(difference), tell);
    return () => {
      isCurrent = false;
    };
  }, [original.id, id, isEnded, at]);
  return found;
}
