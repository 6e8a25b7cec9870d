import { Button, Text } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import type { ModelView } from "../api/types";
import { PlusIcon } from "../shell/icons";
import { navigate, settingsPath } from "../shell/router";
import { useApp } from "../store/store";
import { FindElsewhere } from "./FindElsewhere";
import { FoundModels, useFound } from "./FoundModels";
import { ModelCard } from "./ModelCard";
import { ModelForm } from "./ModelForm";
import classes from "./Settings.module.css";
import type { CatalogueState } from "./useCatalogue";
import { Place, Warning } from "./Warning";

/** What the form is open for: a model, a new one, or nothing. */
type Editing = ModelView | "new" | null;

/** Other parts of the page send people here with "?add=1". */
const asksToAdd = () => new URLSearchParams(location.search).has("add");

function FileProblem() {
  const problem = useApp((state) => state.models.problem);
  if (!problem) return null;
  return (
    <Warning title="The models file cannot be read">
      <Place {...problem} />
      <p>{problem.message}</p>
      <p>
        The last good version stays in force. Correct the file and it is read again at once; a change made here replaces
        it and keeps the broken one beside it.
      </p>
    </Warning>
  );
}

/** The models: a card for each, add, edit, delete, default, test. */
export function ModelsTab({ catalogue }: { catalogue: CatalogueState }) {
  const models = useApp((state) => state.models.models);
  const found = useFound();
  const [editing, setEditing] = useState<Editing>(asksToAdd() ? "new" : null);
  const addButton = useRef<HTMLButtonElement>(null);
  // The address asked once; a reload must not ask again.
  useEffect(() => navigate(settingsPath("models"), "replace"), []);
  return (
    <>
      <FileProblem />
      <FoundModels found={found} />
      <div className={classes.sectionHead}>
        <h2 className="ph-section-title">Models</h2>
        <Button ref={addButton} size="xs" leftSection={<PlusIcon size={15} />} onClick={() => setEditing("new")}>
          Add Model
        </Button>
      </div>
      {models.length === 0 && <Text c="dimmed">No model configured. Add one, and it can answer.</Text>}
      <ul className={classes.cards}>
        {models.map((model) => (
          <ModelCard
            key={model.id}
            model={model}
            onEdit={() => setEditing(model)}
            onDeleted={() => addButton.current?.focus()}
          />
        ))}
      </ul>
      <FindElsewhere />
      <ModelForm
        model={editing}
        catalogue={catalogue.catalogue}
        found={found}
        onClose={() => setEditing(null)}
      />
    </>
  );
}
