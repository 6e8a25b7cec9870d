import { ActionIcon, Button, Tabs, Title } from "@mantine/core";
import { lazy, Suspense, useEffect, useMemo, useRef, type ReactNode } from "react";
import { useCommands, type Command } from "../shell/commands";
import { CloseIcon, RetryIcon } from "../shell/icons";
import { navigate, settingsPath, settingsTabs, type SettingsTab } from "../shell/router";
import { Loading } from "../shell/Standstill";
import { leave } from "../shell/start";
import { GeneralTab } from "./GeneralTab";
import { McpTab } from "./McpTab";
import { ModelsTab } from "./ModelsTab";
import classes from "./Settings.module.css";
import { useCatalogue, type CatalogueState } from "./useCatalogue";

const PermissionsTab = lazy(() => import("../policy/PermissionsTab"));
const TerminalSettingsTab = lazy(() => import("../terminal/TerminalSettingsTab"));

const names: Record<SettingsTab, string> = {
  general: "General",
  models: "Models",
  mcp: "MCP",
  permissions: "Permissions",
  terminal: "Terminal",
};

function panel(tab: SettingsTab, catalogue: CatalogueState): ReactNode {
  switch (tab) {
    case "general":
      return <GeneralTab />;
    case "models":
      return <ModelsTab catalogue={catalogue} />;
    case "mcp":
      return <McpTab />;
    case "permissions":
      return (
        <Suspense fallback={<Loading />}>
          <PermissionsTab />
        </Suspense>
      );
    case "terminal":
      return (
        <Suspense fallback={<Loading />}>
          <TerminalSettingsTab />
        </Suspense>
      );
  }
}

function Head({ catalogue }: { catalogue: CatalogueState }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Whoever comes here by keyboard starts at the top of what is new.
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <header className={classes.head}>
      <Title order={1} size="h3" ref={heading} tabIndex={-1} className={classes.heading}>
        Settings
      </Title>
      <Button
        variant="default"
        size="xs"
        leftSection={<RetryIcon size={15} />}
        loading={catalogue.isRefreshing}
        onClick={catalogue.refresh}
      >
        Refresh Models
      </Button>
      <ActionIcon size="lg" aria-label="Close settings" onClick={leave}>
        <CloseIcon />
      </ActionIcon>
    </header>
  );
}

/** Keep the tab that is open in sight where they do not all fit. */
function useTabInSight(tab: SettingsTab) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector("[data-active]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [tab]);
  return list;
}

/** The settings, one tab at a time. */
export default function Settings({ tab }: { tab: SettingsTab }) {
  const catalogue = useCatalogue();
  const list = useTabInSight(tab);
  const commands = useMemo<Command[]>(
    () => [{ id: "close-settings", title: "Close settings", keys: ["escape"], group: "Settings", run: leave }],
    [],
  );
  useCommands(commands);
  return (
    <div className={classes.scroller}>
      <div className={classes.column}>
        <Head catalogue={catalogue} />
        <div className={classes.news} role="status">
          {catalogue.news.map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
        </div>
        <Tabs
          value={tab}
          onChange={(value) => value && navigate(settingsPath(value as SettingsTab), "replace")}
          keepMounted={false}
        >
          <Tabs.List ref={list} className={classes.tabs} aria-label="Settings">
            {settingsTabs.map((name) => (
              <Tabs.Tab key={name} value={name} className={classes.tab}>
                {names[name]}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {settingsTabs.map((name) => (
            <Tabs.Panel key={name} value={name} className={classes.panel}>
              {panel(name, catalogue)}
            </Tabs.Panel>
          ))}
        </Tabs>
      </div>
    </div>
  );
}
