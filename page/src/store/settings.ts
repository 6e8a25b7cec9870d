import type { ConfigView, ConversationSettings } from "../api/types";
import { noSettings, type AppState } from "./store";

type Chosen = AppState["chosen"];

/** Return what a new conversation begins with: the active profile; nothing but a person switches asking off. */
function usual(config: ConfigView | null): ConversationSettings {
  const active = config?.profiles.find((profile) => profile.id === config.activeProfile);
  const settings = { ...noSettings, ...active?.settings, modeSince: 0 };
  return settings.mode === "auto_approve" ? { ...settings, mode: "ask" } : settings;
}

let last: { config: ConfigView | null; chosen: Chosen; settings: ConversationSettings } | null = null;

/** Return the same object for the same state: who looks at it is told only of changes. */
function nextSettings({ config, chosen }: AppState): ConversationSettings {
  if (last?.config !== config || last.chosen !== chosen) {
    last = { config, chosen, settings: { ...usual(config), ...chosen } };
  }
  return last.settings;
}

/** Return the settings of the open conversation, or of the one that the next message starts. */
export function settingsNow(state: AppState): ConversationSettings {
  return state.open?.conversation.settings ?? nextSettings(state);
}
