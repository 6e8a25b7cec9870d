import { Drawer } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { lazy, Suspense, useEffect, useLayoutEffect, useMemo, useState } from "react";
import { goToApproval } from "../approvals/focus";
import { openTree, useTreeWasOpened } from "../branches/opened";
import { Chat } from "../chat/Chat";
import { Sidebar } from "../conversations/Sidebar";
import { useHasViewed } from "../documents/viewing";
import { Palette } from "../palette/Palette";
import { Panel } from "../panel/Panel";
import { stopRun } from "../store/actions";
import { activeRun } from "../store/conversation";
import { getState, useApp } from "../store/store";
import { AppBar } from "./AppBar";
import { AutoApproveBanner } from "./AutoApproveBanner";
import classes from "./App.module.css";
import { handleKey, useCommands, type Command } from "./commands";
import { tell } from "./messages";
import { currentRoute, navigate, onRoute, roomPath, settingsPath, topicsPath, useRoute, waitingPath } from "./router";
import { ServerGone } from "./ServerGone";
import { ServerNotice } from "./ServerNotice";
import { Shortcuts } from "./Shortcuts";
import { Failed, Loading, SignedOut } from "./Standstill";
import { hasDraft, sendDraft, startNew } from "./start";
import { useTab } from "./useTab";

const Settings = lazy(() => import("../settings/Settings"));
const Rooms = lazy(() => import("../servers/Rooms"));
const Callback = lazy(() => import("../servers/Callback"));
const TreeDialog = lazy(() => import("../branches/TreeDialog"));
const Viewer = lazy(() => import("../documents/Viewer"));
const TopicRoom = lazy(() => import("../topics/TopicRoom"));
const WaitingRoom = lazy(() => import("../approvals/WaitingRoom"));

/** Below this width the list of conversations is a drawer. */
const NARROW = "(max-width: 760px)";

/** What is open besides the page itself; only one at a time. */
type Opened = "palette" | "keys" | "list" | "search" | null;

/** At once, so that no letter typed is lost, and again when a dialog has given the focus back. */
function focusSearch(): void {
  const focus = () => document.getElementById("search")?.focus();
  focus();
  requestAnimationFrame(focus);
}

const roomCommands: Command[] = [
  { id: "add-server", title: "Add an MCP server", group: "MCP", run: () => navigate(`${settingsPath("mcp")}?add=1`) },
  { id: "tools", title: "Available tools", keys: ["alt+t"], group: "MCP", run: () => navigate(roomPath("tools")) },
  { id: "status", title: "Status of the MCP servers", group: "MCP", run: () => navigate(roomPath("status")) },
  { id: "traffic", title: "MCP traffic", group: "MCP", run: () => navigate(roomPath("traffic")) },
];

function useGlobalCommands(open: (what: Opened) => void, isNarrow: boolean): void {
  const commands = useMemo<Command[]>(
    () => [
      { id: "new", title: "New conversation", keys: ["mod+n", "alt+n"], group: "Chat", run: startNew },
      {
        id: "send",
        title: "Send the message",
        keys: ["mod+enter"],
        group: "Chat",
        enabled: () => hasDraft() && (getState().branching !== null || activeRun(getState().open) === null),
        run: sendDraft,
      },
      {
        id: "search",
        title: "Search conversations",
        keys: ["mod+/"],
        group: "Chat",
        // The drawer of a narrow page gives the focus itself.
        run: () => (isNarrow ? open("search") : focusSearch()),
      },
      {
        id: "stop",
        title: "Stop the answer",
        keys: ["escape"],
        group: "Chat",
        enabled: () => currentRoute().page === "chat" && getState().branching === null && activeRun(getState().open) !== null,
        run: () => void stopRun().catch(tell),
      },
      { id: "waiting", title: "Waiting for you", keys: ["alt+w"], group: "Chat", run: () => navigate(waitingPath) },
      {
        id: "question",
        title: "Go to the question about a call",
        keys: ["alt+a"],
        group: "Chat",
        enabled: () => document.querySelector("[data-approval]") !== null,
        run: goToApproval,
      },
      {
        id: "branches",
        title: "Branches of this conversation",
        keys: ["alt+b"],
        group: "Chat",
        enabled: () => currentRoute().page === "chat" && (getState().open?.conversation.branches ?? 0) > 0,
        run: openTree,
      },
      { id: "topics", title: "Topics", group: "Chat", run: () => navigate(topicsPath) },
      { id: "palette", title: "All commands", keys: ["mod+k"], group: "Page", run: () => open("palette") },
      { id: "keys", title: "Keyboard shortcuts", keys: ["?"], group: "Page", run: () => open("keys") },
      { id: "settings", title: "Settings", group: "Page", run: () => navigate(settingsPath("general")) },
      { id: "models", title: "Manage models", group: "Page", run: () => navigate(settingsPath("models")) },
      ...roomCommands,
    ],
    [open, isNarrow],
  );
  useCommands(commands);
  // Whoever sees the page may press its keys.
  useLayoutEffect(() => {
    window.addEventListener("keydown", handleKey);
    return () => window.removeEventListener("keydown", handleKey);
  }, []);
}

function Page() {
  const route = useRoute();
  const isNarrow = useMediaQuery(NARROW, false, { getInitialValueInEffect: false });
  const [opened, setOpened] = useState<Opened>(null);
  const close = () => setOpened(null);
  useGlobalCommands(setOpened, isNarrow);
  useTab();
  const hasViewed = useHasViewed();
  const hasSeenTree = useTreeWasOpened();
  useEffect(() => onRoute(() => setOpened(null)), []);
  return (
    <div className={classes.page}>
      <a className="skip" href="#main">
        Skip to the conversation
      </a>
      {!isNarrow && (
        <aside className={classes.side} aria-label="Conversations">
          <Sidebar />
        </aside>
      )}
      <div className={classes.middle}>
        <AppBar onMenu={isNarrow ? () => setOpened("list") : null} />
        <ServerNotice />
        <AutoApproveBanner />
        {route.page !== "chat" && <ServerGone />}
        <div className={classes.below}>
          <main id="main" className={classes.main} tabIndex={-1}>
            <Suspense fallback={<Loading />}>
              {route.page === "settings" && <Settings tab={route.tab} />}
              {route.page === "waiting" && <WaitingRoom />}
              {route.page === "topic" && <TopicRoom key={route.topicId} topicId={route.topicId} />}
              {route.page === "room" && <Rooms room={route.room} />}
              {route.page === "chat" && <Chat itemId={route.itemId} />}
            </Suspense>
          </main>
          {route.page === "chat" && <Panel />}
        </div>
      </div>
      {isNarrow && (
        <Drawer.Root opened={opened === "list" || opened === "search"} onClose={close} size={300} padding={0}>
          <Drawer.Overlay />
          <Drawer.Content aria-label="Conversations">
            <Sidebar startsInSearch={opened === "search"} />
          </Drawer.Content>
        </Drawer.Root>
      )}
      {hasViewed && (
        <Suspense fallback={null}>
          <Viewer />
        </Suspense>
      )}
      {hasSeenTree && (
        <Suspense fallback={null}>
          <TreeDialog />
        </Suspense>
      )}
      <Shortcuts opened={opened === "keys"} onClose={close} />
      {/* Not fetched when it is wanted: what is typed right after its keys is meant for it. */}
      {opened === "palette" && <Palette opened onClose={close} />}
    </div>
  );
}

/** The whole page, or why it cannot be drawn. */
export function App() {
  const phase = useApp((state) => state.phase);
  const isBack = useRoute().page === "callback";
  switch (phase.name) {
    case "loading":
      return <Loading />;
    case "signed-out":
      return <SignedOut />;
    case "failed":
      return <Failed message={phase.message} />;
    case "ready":
      return isBack ? (
        <Suspense fallback={<Loading />}>
          <Callback />
        </Suspense>
      ) : (
        <Page />
      );
  }
}
