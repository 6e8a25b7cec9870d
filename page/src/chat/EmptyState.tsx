import { Text, Title } from "@mantine/core";
import { FoundModels, useFound } from "../settings/FoundModels";
import { PageLink } from "../shell/links";
import { currentModel } from "../shell/ModelSelector";
import { settingsPath, type SettingsTab } from "../shell/router";
import { useApp } from "../store/store";
import classes from "./Chat.module.css";

const addPath = (tab: SettingsTab) => `${settingsPath(tab)}?add=1`;

/** What is still to be done: each goes away once it is. */
function ToDo({ needsModel, needsServer }: { needsModel: boolean; needsServer: boolean }) {
  if (!needsModel && !needsServer) return null;
  return (
    <p className={classes.toDo}>
      {needsModel && <PageLink path={addPath("models")}>Add a model</PageLink>}
      {needsServer && <PageLink path={addPath("mcp")}>Add an MCP server</PageLink>}
    </p>
  );
}

function Found() {
  return <FoundModels found={useFound()} />;
}

/** The start of a conversation: what answers here, and, while that is the built-in model, what could answer better. */
export function EmptyState() {
  const model = useApp(currentModel);
  const hasOwn = useApp((state) => state.models.models.some(({ provider }) => provider !== "embedded"));
  const hasServer = useApp((state) => state.servers.servers.length > 0);
  const answers = model && `${model.name} answers here. ${hasOwn ? "" : model.note}`;
  return (
    <div className={classes.empty}>
      <Title order={1} size="h2">
        {model ? "What shall we do?" : "No model configured"}
      </Title>
      <Text c="dimmed" className={classes.emptyText}>
        {answers ?? "Add a model, and it can answer here."}
      </Text>
      {!(model && hasOwn) && <Found />}
      <ToDo needsModel={!(model && hasOwn)} needsServer={!hasServer} />
    </div>
  );
}
