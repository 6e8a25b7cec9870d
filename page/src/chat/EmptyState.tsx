import { Anchor, Button, Select, Text, Title } from "@mantine/core";
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { FoundModel } from "../api/types";
import { currentModel } from "../shell/ModelSelector";
import { tell } from "../shell/messages";
import { navigate, settingsPath } from "../shell/router";
import { focusComposer } from "../shell/start";
import { setState, useApp } from "../store/store";
import classes from "./Chat.module.css";

function useFound(): FoundModel[] {
  const models = useApp((state) => state.models);
  const [found, setFound] = useState<FoundModel[]>([]);
  useEffect(() => {
    let isCurrent = true;
    api.foundModels().then(
      (result) => isCurrent && setFound(result.found),
      // Looking around is an offer; when it fails there is simply nothing to offer.
      () => isCurrent && setFound([]),
    );
    return () => {
      isCurrent = false;
    };
  }, [models]);
  return found;
}

async function add(found: FoundModel, model: string): Promise<void> {
  const { headers: _headers, extra: _extra, ...draft } = found.draft;
  const name = found.choices.length ? model : draft.name;
  const added = await api.addModel({ ...draft, id: null, name, model: model || (draft.model ?? "") });
  setState({ models: await api.setDefaultModel(added.id) });
  focusComposer();
}

function FoundCard({ found }: { found: FoundModel }) {
  const [model, setModel] = useState(found.draft.model || found.choices[0] || "");
  const [isAdding, setAdding] = useState(false);
  const onAdd = () => {
    setAdding(true);
    add(found, model)
      .catch(tell)
      .finally(() => setAdding(false));
  };
  return (
    <li className={classes.foundCard}>
      <div className={classes.grow}>
        <Text fw={600} size="sm">
          {found.title}
        </Text>
        <Text size="xs" c="dimmed">
          {found.why}
        </Text>
      </div>
      {found.choices.length > 1 && (
        <Select
          size="xs"
          aria-label={`Model of ${found.title}`}
          className={classes.foundChoice}
          data={found.choices}
          value={model}
          allowDeselect={false}
          searchable
          onChange={(value) => setModel(value ?? "")}
        />
      )}
      <Button size="xs" variant="light" loading={isAdding} onClick={onAdd}>
        Add
      </Button>
    </li>
  );
}

/** The start of a conversation: what answers here, and what could answer better. */
export function EmptyState() {
  const model = useApp(currentModel);
  const found = useFound();
  const addPath = `${settingsPath("models")}?add=1`;
  return (
    <div className={classes.empty}>
      <Title order={1} size="h2">
        {model ? "What shall we do?" : "No model configured"}
      </Title>
      <Text c="dimmed" className={classes.emptyText}>
        {model ? `${model.name} answers here. ${model.note}` : "Add a model, and it can answer here."}
      </Text>
      {found.length > 0 && (
        <>
          <Text size="sm" component="h2" fw={600}>
            Found on this machine
          </Text>
          <ul className={classes.found}>
            {found.map((entry) => (
              <FoundCard key={entry.title} found={entry} />
            ))}
          </ul>
        </>
      )}
      <Anchor
        size="sm"
        href={addPath}
        onClick={(event) => {
          event.preventDefault();
          navigate(addPath);
        }}
      >
        Add a model
      </Anchor>
    </div>
  );
}
