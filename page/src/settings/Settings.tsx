import { Button, Tabs } from "@mantine/core";
import { lazy, Suspense, useEffect, useRef, type ReactNode } from "react";
import { RetryIcon } from "../shell/icons";
import { Room } from "../shell/Room";
import { navigate, settingsPath, settingsTabs, type SettingsTab } from "../shell/router";
import { Loading } from "../shell/Standstill";
import { GeneralTab } from "./GeneralTab";
import { McpTab } from "./McpTab";
import { ModelsTab } from "./ModelsTab";
import classes from "./Settings.module.css";
import { useCatalogue, type CatalogueState } from "./useCatalogue";

const MemoryTab = lazy(() => import("../memory/MemoryTab"));
const PermissionsTab = lazy(() => import("../policy/PermissionsTab"));
const PromptsTab = lazy(() => import("../prompts/PromptsTab"));
const TerminalSettingsTab = lazy(() => import("../terminal/TerminalSettingsTab"));
const WebTab = lazy(() => import("../web/WebTab"));
const OperationTab = lazy(() => import("../operation/OperationTab"));
const UsageTab = lazy(() => import("../usage/UsageTab"));

const names: Record<SettingsTab, string> = {
  general: "General",
  models: "Models",
  mcp: "MCP",
  memory: "Memory",
  permissions: "Permissions",
  prompts: "Prompts",
  terminal: "Terminal",
  web: "Web",
  usage: "Usage",
  operation: "Operation",
};

function panel(tab: SettingsTab, catalogue: CatalogueState): ReactNode {
  switch (tab) {
    case "general":
      return <GeneralTab />;
    case "models":
      return <ModelsTab catalogue={catalogue} />;
    case "mcp":
      return <McpTab />;
    case "memory":
      return (
        <Suspense fallback={<Loading />}>
          <MemoryTab />
        </Suspense>
      );
    case "permissions":
      return (
        <Suspense fallback={<Loading />}>
          <PermissionsTab />
        </Suspense>
      );
    case "prompts":
      return (
        <Suspense fallback={<Loading />}>
          <PromptsTab />
        </Suspense>
      );
    case "terminal":
      return (
        <Suspense fallback={<Loading />}>
          <TerminalSettingsTab />
        </Suspense>
      );
    case "web":
      return (
        <Suspense fallback={<Loading />}>
          <WebTab />
        </Suspense>
      );
    case "usage":
      return (
        <Suspense fallback={<Loading />}>
          <UsageTab />
        </Suspense>
      );
    case "operation":
      return (
        <Suspense fallback={<Loading />}>
          <OperationTab />
        </Suspense>
      );
  }
}

function RefreshButton({ catalogue }: { catalogue: CatalogueState }) {
  return (
    <Button
      variant="default"
      size="xs"
      leftSection={<RetryIcon size={15} />}
      loading={catalogue.isRefreshing}
      onClick={catalogue.refresh}
    >
      Refresh Models
    </Button>
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

const closing = { id: "close-settings", title: "Close settings", group: "Settings" };

/** The settings, one tab at a time. */
export default function Settings({ tab }: { tab: SettingsTab }) {
  const catalogue = useCatalogue();
  const list = useTabInSight(tab);
  return (
    <Room title="Settings" closing={closing} tools={<RefreshButton catalogue={catalogue} />}>
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
    </Room>
  );
}
