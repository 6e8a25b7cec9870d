import { ActionIcon, Anchor, Badge, Button, Checkbox } from "@mantine/core";
import { useEffect, useState, type MouseEvent } from "react";
import { PencilIcon, TrashIcon, UndoIcon, WarningIcon } from "../shell/icons";
import { itemPath, navigate } from "../shell/router";
import { memories, type Memory, type MemoryCollection, type MemoryMatch } from "./memories";
import classes from "./Memory.module.css";
import { oldness, placeName, recalled, saidBy } from "./words";

/** Where a memory came from, as a link that opens it. */
function Origin({ memory }: { memory: Memory }) {
  const { conversationId, itemId } = memory.origin;
  if (!conversationId) return null;
  const path = itemPath(conversationId, itemId);
  const open = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    navigate(path);
  };
  return (
    <Anchor inherit href={path} onClick={open}>
      Where it came from
    </Anchor>
  );
}

/** What a memory may contradict, side by side, and what to do about it. */
function Doubt({ memory, other, onChange }: { memory: Memory; other: string; onChange: () => void }) {
  const [older, setOlder] = useState<Memory | null>(null);
  useEffect(() => {
    let isCurrent = true;
    memories.get(other).then(
      (found) => isCurrent && setOlder(found),
      // It is forgotten: nothing is contradicted any more.
      () => isCurrent && setOlder(null),
    );
    return () => {
      isCurrent = false;
    };
  }, [other]);
  if (!older) return null;
  return (
    <div className={`ph-warning ${classes.doubt}`} role="note" aria-label="May contradict">
      <span className={classes.doubted}>
        <WarningIcon size={15} />
        {older.title === older.text ? `May contradict “${older.title}”` : `May contradict “${older.title}”: ${older.text}`}
      </span>
      <Button size="compact-xs" variant="default" onClick={() => void memories.forget(older.key).then(onChange)}>
        Forget the older one
      </Button>
      <Button size="compact-xs" variant="default" onClick={() => void memories.change(memory.key, { settled: true }).then(onChange)}>
        Both are true
      </Button>
    </div>
  );
}

function Facts({ match, collections }: { match: MemoryMatch; collections: readonly MemoryCollection[] }) {
  const { memory, likeness } = match;
  return (
    <p className={classes.facts}>
      <span>{placeName(memory.scope, collections)}</span>
      <span>{saidBy(memory)}</span>
      <span>{oldness(memory)}</span>
      {memory.uses > 0 && <span>{recalled(memory)}</span>}
      {typeof likeness === "number" && <span>{`likeness ${likeness.toFixed(2)}`}</span>}
      <Origin memory={memory} />
    </p>
  );
}

interface RowProps {
  match: MemoryMatch;
  collections: readonly MemoryCollection[];
  isChosen: boolean;
  onChoose: (isChosen: boolean) => void;
  onEdit: () => void;
  onForget: () => void;
  onRestore: () => void;
  onChange: () => void;
}

/** A memory with all that is known of it, and what can be done with it. */
export function MemoryRow({ match, collections, isChosen, onChoose, onEdit, onForget, onRestore, onChange }: RowProps) {
  const { memory } = match;
  const isGone = memory.forgottenAt !== null;
  return (
    <li className={classes.memory} data-memory={memory.key}>
      {!isGone && (
        <Checkbox
          className={classes.check ?? ""}
          aria-label={`Choose ${memory.title}`}
          checked={isChosen}
          onChange={(event) => onChoose(event.currentTarget.checked)}
        />
      )}
      <div className={classes.body}>
        <h3 className={classes.title}>{memory.title}</h3>
        {memory.text !== memory.title && <p className={classes.text}>{memory.text}</p>}
        <Facts match={match} collections={collections} />
        {memory.tags.length > 0 && (
          <p className={classes.facts}>
            {memory.tags.map((tag) => (
              <Badge key={tag} size="sm" variant="default" tt="none">
                {tag}
              </Badge>
            ))}
          </p>
        )}
        {memory.tainted && (
          <div className={`ph-warning ${classes.doubt}`} role="note" aria-label="May be a stranger’s words">
            <WarningIcon size={15} />
            <span>{`May hold strangers’ words${memory.sources.length ? ` (${memory.sources.join(", ")})` : ""}: it is never offered by itself.`}</span>
            <Button size="compact-xs" variant="default" onClick={() => void memories.change(memory.key, { vouched: true }).then(onChange)}>
              I say this myself
            </Button>
          </div>
        )}
        {memory.doubts.map((other) => (
          <Doubt key={other} memory={memory} other={other} onChange={onChange} />
        ))}
      </div>
      <div className={classes.actions}>
        {isGone ? (
          <Button size="compact-sm" variant="default" leftSection={<UndoIcon size={14} />} onClick={onRestore}>
            Bring back
          </Button>
        ) : (
          <>
            <ActionIcon variant="subtle" color="gray" aria-label={`Edit ${memory.title}`} onClick={onEdit}>
              <PencilIcon size={16} />
            </ActionIcon>
            <ActionIcon variant="subtle" color="gray" aria-label={`Forget ${memory.title}`} onClick={onForget}>
              <TrashIcon size={16} />
            </ActionIcon>
          </>
        )}
      </div>
    </li>
  );
}
