import { ActionIcon, Tooltip, useMantineColorScheme } from "@mantine/core";
import { TreeButton } from "../branches/TreeButton";
import { PanelButton } from "../panel/PanelButton";
import { useApp, type Connection } from "../store/store";
import classes from "./App.module.css";
import { ChatSettings } from "./ChatSettings";
import { GearIcon, HalfIcon, MenuIcon, MoonIcon, SunIcon } from "./icons";
import { ModelSelector } from "./ModelSelector";
import { navigate, settingsPath, useRoute } from "./router";
import { TopicChip } from "../topics/TopicChip";
import { WorkingFolder } from "./WorkingFolder";

const words: Record<Connection, string> = {
  connecting: "connecting…",
  connected: "connected",
  reconnecting: "reconnecting…",
  offline: "offline",
};

function ConnectionState() {
  const connection = useApp((state) => state.connection);
  return (
    <span className={classes.connection} data-connection={connection} role="status">
      <span className={classes.dot} data-connection={connection} />
      <span className={classes.word}>{words[connection]}</span>
    </span>
  );
}

const nextScheme = { auto: "light", light: "dark", dark: "auto" } as const;
const schemeIcon = { auto: HalfIcon, light: SunIcon, dark: MoonIcon };
const schemeName = { auto: "as the system", light: "light", dark: "dark" };

function ColorScheme() {
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const Icon = schemeIcon[colorScheme];
  const label = `Colours: ${schemeName[colorScheme]}`;
  return (
    <Tooltip label={label}>
      <ActionIcon
        size="lg"
        className={classes.colours ?? ""}
        aria-label={label}
        onClick={() => setColorScheme(nextScheme[colorScheme])}
      >
        <Icon />
      </ActionIcon>
    </Tooltip>
  );
}

/** The bar above everything: the model, the connection, the settings. */
export function AppBar({ onMenu }: { onMenu: (() => void) | null }) {
  const route = useRoute();
  return (
    <header className={classes.bar}>
      {onMenu && (
        <ActionIcon size="lg" aria-label="Conversations" onClick={onMenu}>
          <MenuIcon />
        </ActionIcon>
      )}
      <ModelSelector />
      <span className="ph-space" />
      <ConnectionState />
      {route.page === "chat" && (
        <>
          <TopicChip />
          <WorkingFolder />
          <TreeButton />
          <ChatSettings />
          <PanelButton />
        </>
      )}
      {/* What is on every page stands at the edge, where it keeps its place from one page to the next. */}
      <ColorScheme />
      <Tooltip label="Settings">
        <ActionIcon size="lg" aria-label="Settings" onClick={() => navigate(settingsPath("general"))}>
          <GearIcon />
        </ActionIcon>
      </Tooltip>
    </header>
  );
}
