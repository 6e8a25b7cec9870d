import { Modal } from "@mantine/core";
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { keyLabel } from "../shell/commands";
import { find, type Entry, type Hit, type HitGroup } from "./entries";
import classes from "./Palette.module.css";
import { useEntries } from "./useEntries";

/** Return a title with the matched letters marked. */
function marked({ entry, at }: Hit): ReactNode {
  const parts: ReactNode[] = [];
  let from = 0;
  for (const place of at) {
    parts.push(entry.title.slice(from, place), <mark key={place}>{entry.title[place]}</mark>);
    from = place + 1;
  }
  return [...parts, entry.title.slice(from)];
}

interface Choosing {
  id: string;
  onChoose: (entry: Entry) => void;
  onHover: (entry: Entry) => void;
}

interface OptionProps extends Choosing {
  hit: Hit;
  isActive: boolean;
  showGroup: boolean;
}

interface OptionsProps extends Choosing {
  groups: readonly HitGroup[];
  active: string | undefined;
}

function Option({ id, hit, isActive, showGroup, onChoose, onHover }: OptionProps) {
  const { entry } = hit;
  // Of several, the last is the one that no browser keeps for itself.
  const keys = entry.keys?.at(-1);
  return (
    <div
      id={`${id}-${entry.id}`}
      role="option"
      aria-selected={isActive}
      className={classes.option}
      onMouseMove={() => !isActive && onHover(entry)}
      // The field keeps the focus, so that typing goes on.
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => onChoose(entry)}
    >
      <span className={classes.title}>{marked(hit)}</span>
      {showGroup && <span className={classes.group}>{entry.group}</span>}
      {keys && <kbd>{keyLabel(keys)}</kbd>}
    </div>
  );
}

function Options({ id, groups, active, onChoose, onHover }: OptionsProps) {
  return (
    <div id={id} role="listbox" aria-label="Commands and conversations" className={classes.list}>
      {groups.map((group) => (
        <div key={group.name} role="group" aria-label={group.name || "What fits"}>
          {group.name && (
            <div className={`ph-group-name ${classes.heading}`} aria-hidden>
              {group.name}
            </div>
          )}
          {group.hits.map((hit) => (
            <Option
              key={hit.entry.id}
              id={id}
              hit={hit}
              isActive={hit.entry.id === active}
              showGroup={!group.name}
              onChoose={onChoose}
              onHover={onHover}
            />
          ))}
        </div>
      ))}
    </div>
  );
}

/** Return where a key moves the choice to, or null for any other key. */
function moved(key: string, at: number, count: number): number | null {
  switch (key) {
    case "ArrowDown":
      return (at + 1) % count;
    case "ArrowUp":
      return (at - 1 + count) % count;
    case "PageDown":
      return Math.min(at + 8, count - 1);
    case "PageUp":
      return Math.max(at - 8, 0);
    default:
      return null;
  }
}

function Chooser({ onChoose, onCancel }: { onChoose: (entry: Entry) => void; onCancel: () => void }) {
  const id = useId();
  const entries = useEntries();
  const [query, setQuery] = useState("");
  const [activeId, setActiveId] = useState<string | null>(null);
  const groups = find(entries, query);
  const hits = groups.flatMap((group) => group.hits);
  const at = Math.max(0, hits.findIndex((hit) => hit.entry.id === activeId));
  const active = hits[at]?.entry;
  const onKeyDown = (event: KeyboardEvent) => {
    const to = hits.length ? moved(event.key, at, hits.length) : null;
    if (to !== null) {
      const entry = hits[to]?.entry;
      setActiveId(entry?.id ?? null);
      document.getElementById(`${id}-${entry?.id}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" && active) onChoose(active);
    else if (event.key === "Escape") onCancel();
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        className={classes.input}
        role="combobox"
        aria-label="Search commands and conversations"
        aria-expanded={hits.length > 0}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={active && `${id}-${active.id}`}
        placeholder="Type a command or a title"
        autoComplete="off"
        spellCheck={false}
        // At once, so that the next letter is already its own; the dialog would give the focus a moment later.
        autoFocus
        data-autofocus
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          setActiveId(null);
        }}
        onKeyDown={onKeyDown}
      />
      <Options
        id={id}
        groups={groups}
        active={active?.id}
        onChoose={onChoose}
        onHover={(entry) => setActiveId(entry.id)}
      />
      <p role="status" className={classes.none}>
        {hits.length === 0 && "Nothing fits."}
      </p>
    </>
  );
}

interface AskingProps {
  ask: NonNullable<Entry["ask"]>;
  onDone: (text: string) => void;
  onCancel: () => void;
}

function Asking({ ask, onDone, onCancel }: AskingProps) {
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(ask.initial);
  useEffect(() => field.current?.select(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && text.trim()) onDone(text.trim());
    else if (event.key === "Escape") onCancel();
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        ref={field}
        className={classes.input}
        aria-label={ask.label}
        autoFocus
        maxLength={80}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <p className={classes.hint}>
        <kbd>Enter</kbd> keeps it, <kbd>Esc</kbd> leaves it as it was.
      </p>
    </>
  );
}

/** The command palette: type a few letters, choose, done. */
export function Palette({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const [asking, setAsking] = useState<Entry | null>(null);
  const [before] = useState(() => document.activeElement);
  const close = () => {
    onClose();
    if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
  };
  // The focus goes back first: a command may put it somewhere better.
  const finish = (run: () => void) => {
    close();
    run();
  };
  const choose = (entry: Entry) => (entry.ask ? setAsking(entry) : finish(() => entry.run?.()));
  return (
    <Modal
      opened={opened}
      onClose={close}
      closeOnEscape={false}
      returnFocus={false}
      withCloseButton={false}
      title="Commands"
      yOffset="12vh"
      padding={0}
      classNames={{ header: "ph-hidden", body: classes.body }}
      transitionProps={{ duration: 0 }}
    >
      {asking?.ask ? (
        <Asking ask={asking.ask} onCancel={close} onDone={(text) => finish(() => asking.ask?.done(text))} />
      ) : (
        <Chooser onChoose={choose} onCancel={close} />
      )}
    </Modal>
  );
}
