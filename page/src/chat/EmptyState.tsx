import { Anchor, Text, Title } from "@mantine/core";
import { FoundModels, useFound } from "../settings/FoundModels";
import { currentModel } from "../shell/ModelSelector";
import { navigate, settingsPath } from "../shell/router";
import { useApp } from "../store/store";
import classes from "./Chat.module.css";

const addPath = `${settingsPath("models")}?add=1`;

/** What is still to be done before someone can be talked to: shown until a model was added. */
function FirstModel() {
  const found = useFound();
  return (
    <>
      <FoundModels found={found} />
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
    </>
  );
}

/** The start of a conversation: what answers here, and, while that is the built-in model, what could answer better. */
export function EmptyState() {
  const model = useApp(currentModel);
  const hasOwn = useApp((state) => state.models.models.some(({ provider }) => provider !== "embedded"));
  const answers = model && `${model.name} answers here. ${hasOwn ? "" : model.note}`;
  return (
    <div className={classes.empty}>
      <Title order={1} size="h2">
        {model ? "What shall we do?" : "No model configured"}
      </Title>
      <Text c="dimmed" className={classes.emptyText}>
        {answers ?? "Add a model, and it can answer here."}
      </Text>
      {!(model && hasOwn) && <FirstModel />}
    </div>
  );
}
