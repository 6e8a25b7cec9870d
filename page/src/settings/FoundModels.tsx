import { Button, Select, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { FoundModel, ModelView } from "../api/types";
import { tell } from "../shell/messages";
import { useApp } from "../store/store";
import { addModel } from "./actions";
import classes from "./FoundModels.module.css";

/** Return what could be added with one click; looked for again whenever the models change. */
export function useFound(): FoundModel[] {
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

function add(found: FoundModel, model: string): Promise<ModelView> {
  const { headers: _headers, extra: _extra, known: _known, service, ...draft } = found.draft;
  const name = draft.name.replace(draft.model ?? "", model);
  return addModel({ ...draft, provider: service || draft.provider, id: null, name, model, contextWindow: null });
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
    <li className={classes.card}>
      <div className={classes.words}>
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
          className={classes.choice}
          data={found.choices}
          value={model}
          allowDeselect={false}
          searchable
          onChange={(value) => setModel(value ?? "")}
        />
      )}
      <Button size="xs" variant="light" loading={isAdding} onClick={onAdd} aria-label={`Add ${found.title}`}>
        Add
      </Button>
    </li>
  );
}

interface Found {
  found: readonly FoundModel[];
  where?: string;
}

/** What was found on this machine or another, each with a button that adds it; nothing when nothing was found. */
export function FoundModels({ found, where = "on this machine" }: Found) {
  if (!found.length) return null;
  return (
    <section className={classes.section} aria-label={`Found ${where}`}>
      <Text size="sm" component="h2" fw={600}>
        Found {where}
      </Text>
      <ul className={classes.list}>
        {found.map((entry) => (
          <FoundCard key={entry.title} found={entry} />
        ))}
      </ul>
    </section>
  );
}
