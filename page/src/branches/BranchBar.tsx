import { Button } from "@mantine/core";
import { memo, useMemo } from "react";
import { useCommands } from "../shell/commands";
import { BranchIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { doNotBranch, goToBranch } from "../store/branching";
import type { BranchPlace } from "../store/places";
import { isTheEnd, placeShown } from "../store/placing";
import { useApp } from "../store/store";
import classes from "./Branches.module.css";

const named = (words: string) => (words ? `“${words}”` : "a message without words");

/** Return where the next message goes, in a sentence. */
export function placeWords({ instead, words }: Pick<BranchPlace, "instead" | "words">, isShown: boolean, isEnd: boolean): string {
  if (!isShown && instead) return `New branch in another place: instead of ${named(words)}. That is not in the branch shown now.`;
  if (!isShown) return `New branch from another place: after the answer to ${named(words)}. That is not in the branch shown now.`;
  if (isEnd) return "Your next message goes on from here, whatever is added meanwhile.";
  if (instead) return "New branch from here: another beginning. What was here stays as it is.";
  return "New branch from here. What followed stays as it is.";
}

function NewBranch({ place }: { place: BranchPlace }) {
  const commands = useMemo(
    () => [{ id: "no-branch", title: "Do not branch from here", keys: ["escape"], group: "Chat", run: doNotBranch }],
    [],
  );
  useCommands(commands);
  const isShown = useApp((state) => placeShown(state) !== null);
  const isEnd = useApp(isTheEnd);
  return (
    <div className={classes.bar} role="status">
      <BranchIcon size={16} />
      <span>{placeWords(place, isShown, isEnd)}</span>
      {!isShown && (
        <Button size="compact-sm" variant="default" onClick={() => void goToBranch(place.branch, place.itemId).catch(tell)}>
          Show the place
        </Button>
      )}
      <Button size="compact-sm" variant="default" onClick={doNotBranch}>
        Cancel
      </Button>
    </div>
  );
}

/** That the next message begins a branch, or that a replay is looked at, above the message box. */
export const BranchBar = memo(() => {
  const place = useApp((state) => state.branching);
  const replay = useApp(({ open }) => {
    const shown = open?.branches.get(open.branch);
    return shown?.kind === "replay" ? shown : null;
  });
  const chosen = useApp((state) => state.open?.conversation.branch ?? 0);
  // There is no box for a message there.
  if (place && !replay) return <NewBranch place={place} />;
  if (!replay) return null;
  return (
    <div className={classes.bar} role="status">
      <BranchIcon size={16} />
      <span>This is a replay: a run once more with the results that its tools gave then.</span>
      <Button size="compact-sm" variant="default" onClick={() => void goToBranch(chosen === replay.number ? replay.parent : chosen).catch(tell)}>
        Back to the conversation
      </Button>
    </div>
  );
});
