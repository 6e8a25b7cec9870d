import { Button, Select, Textarea } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { api, errorText } from "../api/client";
import type { Run } from "../api/types";
import { newKey } from "../composer/drafts";
import { Failure } from "../settings/Warning";
import { currentModelId } from "../shell/ModelSelector";
import { Temperature } from "../shell/SettingFields";
import { settingsNow } from "../store/settings";
import { useApp } from "../store/store";
import classes from "./Replay.module.css";
import { wishOf, type Draft } from "./wish";

interface FormProps {
  original: Run;
  /** The model that answered then. */
  model: string;
  onStarted: (branch: number) => void;
}

/** What to do otherwise this time: the model, its temperature, what it is told before the conversation. */
export function ReplayForm({ original, model, onStarted }: FormProps) {
  const settings = useApp(settingsNow);
  const models = useApp((state) => state.models.models);
  const current = useApp(currentModelId);
  const [usual] = useState<Draft>({
    modelId: model || current || "",
    temperature: original.options.temperature ?? settings.temperature,
    systemPrompt: original.options.systemPrompt ?? settings.systemPrompt ?? "",
  });
  const [draft, setDraft] = useState(usual);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const choices = models.map(({ id, name }) => ({ value: id, label: id === usual.modelId ? `${name} (as then)` : name }));
  const isGone = draft.modelId !== "" && !models.some(({ id }) => id === draft.modelId);
  const start = (event: FormEvent) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setProblem("");
    api
      .replay(original.id, { ...wishOf(draft, usual), idempotencyKey: newKey() })
      .then(({ branch }) => onStarted(branch))
      .catch((error: unknown) => setProblem(errorText(error)))
      .finally(() => setBusy(false));
  };
  return (
    <form className={classes.form} onSubmit={start} aria-label="New replay">
      <p className="ph-explained">
        The same message once more, with the results that tools gave then. No tool is executed. A call that was not made then stops it.
      </p>
      <div className={classes.pair}>
        <Select
          label="Model"
          data={isGone ? [...choices, { value: draft.modelId, label: `${draft.modelId} (gone)` }] : choices}
          value={draft.modelId}
          allowDeselect={false}
          data-autofocus
          onChange={(modelId) => setDraft({ ...draft, modelId: modelId ?? "" })}
        />
        <Temperature settings={{ ...settings, temperature: draft.temperature }} onChange={({ temperature = null }) => setDraft({ ...draft, temperature })} />
      </div>
      <Textarea
        label="System prompt"
        description="What the model is told before the conversation; empty for nothing of your own."
        autosize
        minRows={3}
        maxRows={10}
        value={draft.systemPrompt}
        onChange={(event) => setDraft({ ...draft, systemPrompt: event.currentTarget.value })}
      />
      <Failure message={problem} />
      <div className="ph-actions">
        <Button type="submit" loading={isBusy}>
          Start the replay
        </Button>
      </div>
    </form>
  );
}
