import "@fontsource-variable/inter/wght.css";
import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "virtual:theme.css";
import "./theme/page.css";
import "./theme/touch.css";
import "./theme/shared.css";
import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { DropHint } from "./composer/DropHint";
import { App } from "./shell/App";
import { start } from "./store/session";
import { theme } from "./theme/theme";

const colorSchemes = localStorageColorSchemeManager({ key: "pilothouse.color-scheme" });
const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");

void start();
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      colorSchemeManager={colorSchemes}
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <Notifications position="top-center" limit={3} />
      <DropHint />
      <App />
    </MantineProvider>
  </StrictMode>,
);
