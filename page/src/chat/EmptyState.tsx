import { Anchor, Text, Title } from "@mantine/core";
import { api } from "../api/client";
import type { ModelView } from "../api/types";
import { FoundModels, useFound } from "../settings/FoundModels";
import { currentModel } from "../shell/ModelSelector";
import { tell } from "../shell/messages";
import { navigate, settingsPath } from "../shell/router";
import { focusComposer } from "../shell/start";
import { setState, useApp } from "../store/store";
import classes from "./Chat.module.css";

/** What was just added is what the person wants to talk to. */
async function answerWith(added: ModelView): Promise<void> {
  setState({ models: await api.setDefaultModel(added.id) });
  focusComposer();
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
      <FoundModels found={found} onAdded={(added) => void answerWith(added).catch(tell)} />
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
