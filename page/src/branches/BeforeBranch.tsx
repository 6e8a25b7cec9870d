import { Button } from "@mantine/core";
import { memo, useEffect, useState } from "react";
import { branchesApi } from "../api/branches";
import { api, errorText } from "../api/client";
import type { LeftBehind, UndoConflict, WhenBusy } from "../api/types";
import { Conflicts } from "../diff/Conflicts";
import { Dialog } from "../shell/Dialog";
import { DialogFoot } from "../shell/DialogFoot";
import { seenFrom } from "../shell/paths";
import { useFolder } from "../shell/useFolder";
import { useApp, type AppState } from "../store/store";
import { useAsked, type Asked } from "./asking";
import classes from "./Branches.module.css";
import { busyWords, goOnWords } from "./busy";

/** How often, and for how long, it is looked whether what was stopped has ended. */
const LOOK_MS = 200;
const PATIENCE_MS = 20_000;

/** Return how many of some runs wait for the person: they keep no other branch from being answered. */
const waitingAmong = ({ open }: AppState, runs: readonly string[]) =>
  runs.filter((id) => (open?.runs.get(id) ?? open?.elsewhere.get(id))?.status === "waiting").length;

const counted = (count: number, word: string) => (count === 1 ? `1 ${word}` : `${count.toLocaleString("en")} ${word}s`);

/** Stop answers at work and wait until they have ended; their files cannot be put back before. */
async function stopAll({ runId, itself, left }: Asked): Promise<LeftBehind> {
  for (const run of [...left.atWork].reverse()) await api.cancelRun(run);
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const now = await branchesApi.leftBehind(runId, itself);
    if (!now.atWork.length) return now;
    if (Date.now() > until) throw new Error("The answer has not ended yet. Try again in a moment.");
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function Names({ names, count, label }: { names: readonly string[]; count: number; label: string }) {
  return (
    <ul className={classes.names} aria-label={label}>
      {names.map((name, at) => (
        <li key={at}>{name}</li>
      ))}
      {count > names.length && <li>and {(count - names.length).toLocaleString("en")} more</li>}
    </ul>
  );
}

function Files({ left }: { left: LeftBehind }) {
  const folder = useFolder();
  const is = left.filesCount === 1 ? "was" : "were";
  return (
    <>
      <p className={classes.words}>
        After this place {counted(left.filesCount, "file")} {is} changed. The new branch begins before that; the{" "}
        {left.filesCount === 1 ? "file" : "files"} can be put back to what {left.filesCount === 1 ? "it was" : "they were"} then.
      </p>
      <Names label="Changed files" count={left.filesCount} names={left.files.map((path) => seenFrom(folder, path))} />
      {left.lastingCount > 0 && (
        <>
          <p className={classes.words}>What this did cannot be put back:</p>
          <Names label="Cannot be put back" count={left.lastingCount} names={left.lasting} />
        </>
      )}
    </>
  );
}

function AtWork({ left, waiting }: { left: LeftBehind; waiting: number }) {
  return (
    <p className={classes.words}>
      {busyWords(left.atWork.length - waiting, waiting)}
      {left.filesCount > 0 && " Files can be put back once it has ended."}
    </p>
  );
}

type Step = { name: "at-work" | "files"; left: LeftBehind } | { name: "conflicts"; conflicts: readonly UndoConflict[] };

const first = (left: LeftBehind): Step => ({ name: left.atWork.length ? "at-work" : "files", left });

/** The questions one after the other; each has a way out that changes nothing. */
function Questions({ asked }: { asked: Asked }) {
  const [step, setStep] = useState<Step>(() => first(asked.left));
  const [whenBusy, setWhenBusy] = useState<WhenBusy>("finish");
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const waiting = useApp((state) => waitingAmong(state, asked.left.atWork));
  useEffect(() => {
    setStep(first(asked.left));
    setWhenBusy("finish");
    setProblem("");
  }, [asked]);
  const working = (work: Promise<void>) => {
    setBusy(true);
    setProblem("");
    work.catch((error: unknown) => setProblem(errorText(error))).finally(() => setBusy(false));
  };
  const stop = async () => {
    // Without files there is nothing more to ask: the message itself stops them.
    if (!asked.left.filesCount) return asked.answer("stop");
    const left = await stopAll(asked);
    setWhenBusy("stop");
    if (left.filesCount) setStep({ name: "files", left });
    else asked.answer("stop");
  };
  const putBack = async () => {
    const { conflicts } = await branchesApi.putFilesBack(asked.runId, asked.itself);
    if (conflicts.length) setStep({ name: "conflicts", conflicts });
    else asked.answer(whenBusy);
  };
  const cancel = (
    <Button variant="default" disabled={isBusy} onClick={() => asked.answer(null)}>
      Cancel
    </Button>
  );
  if (step.name === "conflicts")
    return (
      <>
        <p className={classes.words}>The other files are as they were. These were changed since by someone else:</p>
        <Conflicts conflicts={step.conflicts} />
        <DialogFoot problem={problem}>
          {cancel}
          <Button data-autofocus onClick={() => asked.answer(whenBusy)}>
            Go on
          </Button>
        </DialogFoot>
      </>
    );
  const { left } = step;
  if (step.name === "at-work")
    return (
      <>
        <AtWork left={left} waiting={waiting} />
        <DialogFoot problem={problem}>
          {cancel}
          <Button variant="default" disabled={isBusy} onClick={() => asked.answer("finish")}>
            {goOnWords(left.atWork.length - waiting, waiting)}
          </Button>
          <Button data-autofocus loading={isBusy} onClick={() => working(stop())}>
            {left.atWork.length > 1 ? "Stop them" : "Stop it"}
          </Button>
        </DialogFoot>
      </>
    );
  return (
    <>
      <Files left={left} />
      <DialogFoot problem={problem}>
        {cancel}
        <Button variant="default" disabled={isBusy} onClick={() => asked.answer(whenBusy)}>
          Leave {left.filesCount === 1 ? "it" : "them"}
        </Button>
        <Button data-autofocus loading={isBusy} onClick={() => working(putBack())}>
          Put {counted(left.filesCount, "file")} back
        </Button>
      </DialogFoot>
    </>
  );
}

/** What has to be said before a branch is made: of answers at work, and of files that were changed since. */
export const BeforeBranch = memo(() => {
  const asked = useAsked();
  return (
    <Dialog about={asked} title={() => "Before the new branch"} size="lg" onClose={() => asked?.answer(null)}>
      {(about) => <Questions asked={about} />}
    </Dialog>
  );
});
