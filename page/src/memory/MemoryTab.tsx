import { Button, Select, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useEffect, useState } from "react";
import { download } from "../api/bytes";
import { counted } from "../servers/words";
import { loadConfig } from "../settings/actions";
import { Described } from "../settings/Described";
import { Failure } from "../settings/Warning";
import { DownloadIcon, PlusIcon, SearchIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { Said } from "../shell/Said";
import { memories, type Memory, type MemoryCollections, type Scope, type Wanted } from "./memories";
import { MemoryDialog, type Editing } from "./MemoryDialog";
import classes from "./Memory.module.css";
import { MemoryRow } from "./MemoryRow";
import { useMemories } from "./useMemories";
import { placeKey, placeName } from "./words";

const ALL = "all";
const FORGOTTEN = "forgotten";

/** Say what was forgotten and offer it back. */
function offerBack(memory: Memory, onChange: () => void): void {
  const id = `forgotten ${memory.key}`;
  const back = () => {
    notifications.hide(id);
    memories.restore(memory.key).then(onChange, tell);
  };
  const message = (
    <span className={classes.undo}>
      <span>Forgot “{memory.title}”.</span>
      <Button size="compact-sm" variant="light" onClick={back}>
        Undo
      </Button>
    </span>
  );
  notifications.show({ id, message, autoClose: 10_000 });
}

function Exports() {
  return (["json", "markdown"] as const).map((format) => (
    <Button
      key={format}
      component="a"
      size="compact-sm"
      variant="default"
      leftSection={<DownloadIcon size={14} />}
      {...download(`/api/memories/export?format=${format}`, `memories.${format === "json" ? "json" : "md"}`)}
    >
      {format === "json" ? "Export JSON" : "Export Markdown"}
    </Button>
  ));
}

/** Return how much is remembered and how it is found. */
function sumWords({ memories: all, most, byMeaning, meaningNote }: MemoryCollections): string {
  const how = byMeaning ? "They are found by words and by meaning." : `They are found by words. ${meaningNote}`;
  return `${counted(all, "memory").replace("memorys", "memories")} of at most ${most.toLocaleString("en")}. ${how}`.trim();
}

/** Return which memories a choice of the list stands for. */
function wantedOf(chosen: string, places: ReadonlyMap<string, Scope>): Wanted {
  return { scope: places.get(chosen) ?? null, forgotten: chosen === FORGOTTEN };
}

/** What is remembered: read, searched, edited, merged, forgotten, exported. */
export default function MemoryTab() {
  const [query, setQuery] = useState("");
  const [places, setPlaces] = useState<ReadonlyMap<string, Scope>>(new Map());
  const [place, setPlace] = useState(ALL);
  const [chosen, setChosen] = useState<ReadonlyMap<string, Memory>>(new Map());
  const [editing, setEditing] = useState<Editing | null>(null);
  const [said, setSaid] = useState("");
  const { matches, collections, problem, reload } = useMemories(place === FORGOTTEN ? "" : query, wantedOf(place, places));
  useEffect(() => void loadConfig().catch(tell), []);
  useEffect(() => {
    if (collections) setPlaces(new Map(collections.collections.map(({ scope }) => [placeKey(scope), scope])));
  }, [collections]);
  const named = collections?.collections ?? [];
  const change = () => {
    setChosen(new Map());
    reload();
  };
  const choose = (memory: Memory, isChosen: boolean) => {
    const next = new Map(chosen);
    if (isChosen) next.set(memory.key, memory);
    else next.delete(memory.key);
    setChosen(next);
  };
  const forget = (memory: Memory) =>
    memories.forget(memory.key).then(() => {
      offerBack(memory, reload);
      change();
    }, tell);
  const filters = [
    { value: ALL, label: "All places" },
    ...[...places].map(([value, scope]) => ({ value, label: placeName(scope, named) })),
    { value: FORGOTTEN, label: "Forgotten" },
  ];
  return (
    <>
      <Failure message={problem} />
      <section className={classes.room} aria-label="Memories">
        <div className={classes.head}>
          <TextInput
            className={classes.search ?? ""}
            aria-label="Search memories"
            placeholder="Search memories"
            leftSection={<SearchIcon size={16} />}
            disabled={place === FORGOTTEN}
            value={query}
            onChange={(event) => setQuery(event.currentTarget.value)}
          />
          <Select
            className={classes.place ?? ""}
            aria-label="Place"
            data={filters}
            allowDeselect={false}
            value={place}
            onChange={(value) => {
              setChosen(new Map());
              setPlace(value ?? ALL);
            }}
          />
        </div>
        <div role="toolbar" aria-label="Memories" className={classes.head}>
          <Button size="compact-sm" variant="default" leftSection={<PlusIcon size={14} />} onClick={() => setEditing({ kind: "new" })}>
            New memory
          </Button>
          <Button
            size="compact-sm"
            variant="default"
            disabled={chosen.size < 2}
            onClick={() => setEditing({ kind: "merge", memories: [...chosen.values()] })}
          >
            {chosen.size > 1 ? `Merge ${chosen.size}` : "Merge"}
          </Button>
          <span className="ph-space" />
          <Exports />
        </div>
        <p className="ph-explained" role="status">
          <Said text={said || (collections ? sumWords(collections) : "")} />
        </p>
        {matches && !matches.length && <p className="ph-explained">{query ? "Nothing is remembered about that." : "Nothing is remembered here yet."}</p>}
        {matches && matches.length > 0 && (
          <ul className={classes.list} aria-label="Memories">
            {matches.map((match) => (
              <MemoryRow
                key={match.memory.key}
                match={match}
                collections={named}
                isChosen={chosen.has(match.memory.key)}
                onChoose={(isChosen) => choose(match.memory, isChosen)}
                onEdit={() => setEditing({ kind: "change", memory: match.memory })}
                onForget={() => void forget(match.memory)}
                onRestore={() => void memories.restore(match.memory.key).then(change, tell)}
                onChange={change}
              />
            ))}
          </ul>
        )}
      </section>
      <Described tab="memory" />
      <MemoryDialog
        editing={editing}
        collections={named}
        onClose={() => setEditing(null)}
        onDone={(told) => {
          setSaid(told);
          setEditing(null);
          change();
        }}
      />
    </>
  );
}
