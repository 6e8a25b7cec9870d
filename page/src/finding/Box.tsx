import { ActionIcon, Loader, Select, Textarea, Tooltip } from "@mantine/core";
import type { KeyboardEvent } from "react";
import type { RegistryView } from "../api/types";
import { GearIcon, SearchIcon } from "../shell/icons";
import { entered, isOpen, moved, type Choice } from "./asked";
import classes from "./Finding.module.css";
import type { Asked } from "./useAsked";

interface BoxProps {
  asked: Asked;
  registries: readonly RegistryView[];
  /** The list below it, and which of it the keys have come to. */
  listId: string;
  at: number;
  onMove: (at: number) => void;
  onChoose: (choice: Choice) => void;
  onRegistries: () => void;
}

function Registry({ asked, registries }: Pick<BoxProps, "asked" | "registries">) {
  const all = { value: "all", label: "All registries" };
  return (
    <Select
      aria-label="Where to search"
      className={classes.registry}
      data={[all, ...registries.map(({ id, name }) => ({ value: id, label: name }))]}
      allowDeselect={false}
      value={asked.registry}
      onChange={(value) => asked.choose(value ?? "all")}
    />
  );
}

/** The one field that takes anything, and where its words are searched for. */
export function Box({ asked, registries, listId, at, onMove, onChoose, onRegistries }: BoxProps) {
  const { choices } = asked;
  const press = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const next = moved(event.key, at, choices.length);
    if (next !== null && choices.length) {
      event.preventDefault();
      return onMove(next);
    }
    if (event.key !== "Enter" || event.shiftKey) return undefined;
    event.preventDefault();
    // What is shown still belongs to what was typed before.
    const choice = asked.isOld ? null : entered(choices, at);
    if (choice) onChoose(choice);
    else if (at < 0 && !asked.isOld) onMove(choices.findIndex(isOpen));
    return undefined;
  };
  return (
    <div className={classes.box}>
      <Textarea
        className={classes.field}
        aria-label="Search, paste or drop a server"
        placeholder="Search, or paste anything"
        data-autofocus
        autosize
        minRows={1}
        maxRows={5}
        spellCheck={false}
        autoComplete="off"
        autoCapitalize="none"
        leftSection={asked.isBusy ? <Loader size={15} aria-hidden /> : <SearchIcon size={16} />}
        leftSectionProps={{ className: classes.boxIcon ?? "" }}
        aria-controls={choices.length ? listId : undefined}
        aria-activedescendant={at >= 0 ? `${listId}-${choices[at]?.id}` : undefined}
        aria-autocomplete="list"
        value={asked.text}
        onChange={(event) => asked.type(event.currentTarget.value)}
        onKeyDown={press}
      />
      <Registry asked={asked} registries={registries} />
      <Tooltip label="Registries…">
        <ActionIcon size={36} aria-label="Registries…" onClick={onRegistries}>
          <GearIcon size={17} />
        </ActionIcon>
      </Tooltip>
    </div>
  );
}
