import { Button } from "@mantine/core";
import { useState } from "react";
import type { CallItem } from "../api/types";
import { navigate, settingsPath } from "../shell/router";
import { ThoughtIcon, UndoIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { useItems } from "../store/useItems";
import { memories, type MemoryUse } from "./memories";
import classes from "./Memory.module.css";
import { usedWhere, usedWords } from "./words";

/** Take back what a call did about a memory. */
async function undo({ key, outcome, replaced }: MemoryUse): Promise<void> {
  if (outcome === "forgotten") await memories.restore(key);
  else {
    await memories.forget(key);
    if (replaced) await memories.restore(replaced);
  }
}

function Line({ item, memory }: { item: CallItem; memory: MemoryUse }) {
  const [isBusy, setBusy] = useState(false);
  const [isBack, setBack] = useState(false);
  const isForgotten = memory.outcome === "forgotten";
  const isGone = isForgotten ? isBack : (item.data.undone ?? []).includes(memory.key);
  const act = () => {
    setBusy(true);
    undo(memory)
      .then(() => setBack(true), tell)
      .finally(() => setBusy(false));
  };
  return (
    <div className={classes.stored} data-memory={memory.key}>
      <ThoughtIcon size={16} />
      <span className={classes.storedWords} data-gone={isGone || undefined}>
        {`${usedWords(memory)}: ${memory.title} `}
        <span className={classes.where}>{usedWhere(memory)}</span>
      </span>
      {memory.doubts > 0 && !isGone && (
        <Button size="compact-xs" variant="subtle" onClick={() => navigate(settingsPath("memory"))}>
          May contradict another
        </Button>
      )}
      {isGone ? (
        <span className={classes.where}>{isForgotten ? "brought back" : "forgotten"}</span>
      ) : (
        <Button
          size="compact-xs"
          variant="default"
          leftSection={<UndoIcon size={13} />}
          loading={isBusy}
          aria-label={`Undo: ${usedWords(memory)} ${memory.title}`}
          onClick={act}
        >
          Undo
        </Button>
      )}
    </div>
  );
}

/** What a run stored, changed or forgot, a line each with the way back. */
export function StoredMemories({ itemIds }: { itemIds: readonly string[] }) {
  const items = useItems(itemIds).filter((item) => item.kind === "tool_call");
  return items.map((item) => item.data.memory && <Line key={item.id} item={item} memory={item.data.memory} />);
}
