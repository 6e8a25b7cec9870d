import { Anchor, Text, Title } from "@mantine/core";
import { api } from "../api/client";
import type { ModelView } from "../api/types";
import { FoundModels, useFound } from "../settings/FoundModels";
import { tell } from "../shell/messages";
import { currentModel } from "../shell/ModelSelector";
import { navigate, settingsPath } from "../shell/router";
import { focusComposer } from "../shell/start";
import { setState, useApp } from "../store/store";
import classes from "./Chat.module.css";

const addPath = `${settingsPath("models")}?add=1`;

/** What was just added answers from now on: that is why it was added here. */
function answerWith(model: ModelView): void {
  api
    .setDefaultModel(model.id)
    .then((models) => setState({ models }))
    .then(focusComposer)
    .catch(tell);
}

/** The start of a conversation: what answers here, and what could answer better. */
export function EmptyState() {
  const model = useApp(currentModel);
  const found = useFound();
  return (
    <div className={classes.empty}>
      <Title order={1} size="h2">
        {model ? "What shall we do?" : "No model configured"}
      </Title>
      <Text c="dimmed" className={classes.emptyText}>
        {model ? `${model.name} answers here. ${model.note}` : "Add a model, and it can answer here."}
      </Text>
      <FoundModels found={found} onAdded={answerWith} />
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
