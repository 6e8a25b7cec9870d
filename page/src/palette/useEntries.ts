import { useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { useMemo } from "react";
import { beginComparing } from "../compare/actions";
import { deleteWithUndo, titleOf } from "../conversations/ConversationRow";
import { useCommandList } from "../shell/commands";
import { tell } from "../shell/messages";
import { currentModel } from "../shell/ModelSelector";
import { conversationPath, navigate, settingsPath, type SettingsTab } from "../shell/router";
import { changeSettings, compactConversation, renameConversation } from "../store/actions";
import { useApp } from "../store/store";
import { commandEntries, conversationEntries, modelEntries, type Entry } from "./entries";

const tabs: Record<SettingsTab, string> = {
  general: "Settings: General",
  models: "Settings: Models",
  mcp: "Settings: MCP servers and profiles",
  memory: "Settings: Memory",
  permissions: "Settings: Permissions",
  prompts: "Settings: Prompts and mini prompts",
  terminal: "Settings: Terminal",
  web: "Settings: Web and pictures",
  usage: "Settings: Usage and budgets",
  operation: "Settings: Operation, processes and answers at work",
};

const tabEntries: Entry[] = (Object.keys(tabs) as SettingsTab[]).map((tab) => ({
  id: `settings-${tab}`,
  title: tabs[tab],
  group: "Settings",
  run: () => navigate(settingsPath(tab)),
}));

function useConversationTools(): Entry[] {
  const conversation = useApp((state) => state.open?.conversation ?? null);
  return useMemo(() => {
    if (!conversation) return [];
    const { id } = conversation;
    const rename = (title: string) => void renameConversation(id, title).catch(tell);
    return [
      {
        id: "rename",
        title: "Rename this conversation",
        group: "Chat",
        ask: { label: "New title", initial: titleOf(conversation), done: rename },
      },
      {
        id: "compact",
        title: "Sum up this conversation so far",
        group: "Chat",
        run: () => void compactConversation("").catch(tell),
      },
      {
        id: "delete",
        title: "Delete this conversation",
        group: "Chat",
        run: () => void deleteWithUndo(conversation).catch(tell),
      },
    ];
  }, [conversation]);
}

/** Return everything that the palette offers now. */
export function useEntries(): Entry[] {
  const commands = useCommandList();
  const conversations = useApp((state) => state.conversations);
  const models = useApp((state) => state.models.models);
  const current = useApp((state) => currentModel(state)?.id ?? null);
  const tools = useConversationTools();
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const other = useComputedColorScheme("light") === "dark" ? "light" : "dark";
  return useMemo(() => {
    const registered = commandEntries(commands).filter(({ id }) => id !== "settings" && id !== "models");
    const theme: Entry = {
      id: "theme",
      title: `Switch to ${other} colours`,
      group: "Page",
      run: () => setColorScheme(other),
    };
    const compare: Entry = { id: "compare", title: "Compare models with the next message", group: "Chat", run: beginComparing };
    const inGroup = (name: string) => registered.filter((entry) => entry.group === name);
    const rest = registered.filter(({ group }) => group !== "Chat" && group !== "Page");
    return [
      ...inGroup("Chat"),
      ...tools,
      ...(models.length > 1 ? [compare] : []),
      ...inGroup("Page"),
      theme,
      ...rest,
      ...modelEntries(models, current, (id) => void changeSettings({ modelId: id }).catch(tell)),
      ...tabEntries,
      ...conversationEntries(conversations, (id) => navigate(conversationPath(id))),
    ];
  }, [commands, tools, models, current, conversations, other, setColorScheme]);
}
