import { ActionIcon, Drawer, Tabs } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { lazy, Suspense, useMemo, useRef, type KeyboardEvent, type PointerEvent } from "react";
import { useCommands, type Command } from "../shell/commands";
import { CloseIcon } from "../shell/icons";
import { Loading } from "../shell/Standstill";
import { useApp } from "../store/store";
import { wantFocus } from "../terminal/focus";
import { Todos } from "../todos/Todos";
import { progressOf } from "../todos/progress";
import { Changes } from "./Changes";
import classes from "./Panel.module.css";
import { closePanel, NARROWEST, resizePanel, showPanel, togglePanel, toggleTab, usePanel, WIDEST, type PanelTab } from "./state";

const ContextTab = lazy(() => import("../context/ContextTab"));
const DocumentsTab = lazy(() => import("../documents/DocumentsTab"));
const TerminalTab = lazy(() => import("../terminal/TerminalTab"));

/** Below this width the panel is a sheet over the chat. */
const SHEET = "(max-width: 1000px)";
const STEP_PX = 24;

function TodoCount() {
  const todos = useApp((state) => state.open?.todos.todos);
  if (!todos?.length) return null;
  const { done, total } = progressOf(todos);
  return <span className={classes.count}>{` ${done}/${total}`}</span>;
}

function Content() {
  const { tab } = usePanel();
  return (
    <Tabs
      className={classes.tabs ?? ""}
      value={tab}
      onChange={(value) => value && showPanel(value as PanelTab)}
      keepMounted={false}
    >
      <div className={classes.head}>
        <Tabs.List className={classes.list ?? ""} aria-label="Panel">
          <Tabs.Tab value="todos">
            Todos
            <TodoCount />
          </Tabs.Tab>
          <Tabs.Tab value="terminal">Terminal</Tabs.Tab>
          <Tabs.Tab value="changes">Changes</Tabs.Tab>
          <Tabs.Tab value="documents">Documents</Tabs.Tab>
          <Tabs.Tab value="context">Context</Tabs.Tab>
        </Tabs.List>
        <ActionIcon aria-label="Close the panel" onClick={closePanel}>
          <CloseIcon size={16} />
        </ActionIcon>
      </div>
      <Tabs.Panel value="todos" className={classes.content ?? ""}>
        <Todos />
      </Tabs.Panel>
      <Tabs.Panel value="terminal" className={classes.content ?? ""}>
        <Suspense fallback={<Loading />}>
          <TerminalTab />
        </Suspense>
      </Tabs.Panel>
      <Tabs.Panel value="changes" className={classes.content ?? ""}>
        <Changes />
      </Tabs.Panel>
      <Tabs.Panel value="documents" className={classes.content ?? ""}>
        <Suspense fallback={<Loading />}>
          <DocumentsTab />
        </Suspense>
      </Tabs.Panel>
      <Tabs.Panel value="context" className={classes.content ?? ""}>
        <Suspense fallback={<Loading />}>
          <ContextTab />
        </Suspense>
      </Tabs.Panel>
    </Tabs>
  );
}

/** The edge between the chat and the panel: drawn with the pointer, moved with the arrows. */
function Edge({ width }: { width: number }) {
  const from = useRef<number | null>(null);
  const onPointerDown = (event: PointerEvent) => {
    from.current = event.clientX + width;
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const onPointerMove = (event: PointerEvent) => {
    if (from.current !== null) resizePanel(from.current - event.clientX);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: STEP_PX, ArrowRight: -STEP_PX }[event.key];
    if (!step) return;
    event.preventDefault();
    resizePanel(width + step);
  };
  return (
    <div
      className={classes.edge}
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the panel"
      aria-valuenow={width}
      aria-valuemin={NARROWEST}
      aria-valuemax={WIDEST}
      tabIndex={0}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={() => (from.current = null)}
      onPointerCancel={() => (from.current = null)}
      onKeyDown={onKeyDown}
    />
  );
}

function toggleTerminal(): void {
  wantFocus();
  toggleTab("terminal");
}

function usePanelCommands(): void {
  const commands = useMemo<Command[]>(
    () => [
      { id: "panel", title: "Show or hide the panel", keys: ["alt+p"], group: "Panel", run: togglePanel },
      { id: "panel-todos", title: "Todos", group: "Panel", run: () => showPanel("todos") },
      { id: "panel-terminal", title: "Terminal", keys: ["mod+`"], group: "Panel", run: toggleTerminal },
      { id: "panel-changes", title: "Changed files", group: "Panel", run: () => showPanel("changes") },
      { id: "panel-documents", title: "Documents", group: "Panel", run: () => showPanel("documents") },
      { id: "panel-context", title: "Context and cost", group: "Panel", run: () => showPanel("context") },
    ],
    [],
  );
  useCommands(commands);
}

/** What stands beside the chat when it is wanted: todos, the terminal, changed files, documents, what fills the window. */
export function Panel() {
  const { isOpen, width } = usePanel();
  const isSheet = useMediaQuery(SHEET, false, { getInitialValueInEffect: false });
  usePanelCommands();
  if (isSheet) {
    return (
      <Drawer.Root opened={isOpen} onClose={closePanel} position="bottom" size="80%" padding={0}>
        <Drawer.Overlay />
        <Drawer.Content aria-label="Panel">
          <Content />
        </Drawer.Content>
      </Drawer.Root>
    );
  }
  if (!isOpen) return null;
  return (
    <aside className={classes.panel} aria-label="Panel" style={{ width }}>
      <Edge width={width} />
      <Content />
    </aside>
  );
}
