import { ActionIcon, Button, Checkbox, Loader } from "@mantine/core";
import { useEffect, useState } from "react";
import { api, withFix } from "../api/client";
import type { Selection, ServerTool, ServerView } from "../api/types";
import { counted } from "../servers/words";
import { useApp } from "../store/store";
import { PinIcon } from "./icons";
import { tell } from "./messages";
import { Said } from "./Said";
import { choose, chosen, togglePin, toggleTool, type Chosen } from "./selection";
import classes from "./ToolChoice.module.css";

interface ServerChoiceProps {
  server: ServerView;
  what: Chosen;
  /** The tools that go first where there is no room for all. */
  pinned: readonly string[];
  onChoose: (what: Chosen) => void;
  onPin: (tool: string) => void;
}

function Pin({ tool, isPinned, onPin }: { tool: ServerTool; isPinned: boolean; onPin: () => void }) {
  const label = `Pin ${tool.title || tool.name}`;
  return (
    <ActionIcon
      size="sm"
      variant={isPinned ? "filled" : "subtle"}
      color={isPinned ? "sea" : "gray"}
      aria-label={label}
      aria-pressed={isPinned}
      title={label}
      onClick={onPin}
    >
      <PinIcon size={14} />
    </ActionIcon>
  );
}

function Tools({ server, what, pinned, onChoose, onPin }: ServerChoiceProps) {
  const [tools, setTools] = useState<ServerTool[] | null>(null);
  useEffect(() => {
    api.serverTools(server.id).then(
      (list) => setTools(list.tools.filter((tool) => tool.state === "offered")),
      (error: unknown) => {
        setTools([]);
        tell(error);
      },
    );
  }, [server.id, server.toolCount, server.changedTools]);
  if (!tools) return <Loader size="xs" aria-label="Fetching the tools" />;
  if (!tools.length) {
    return (
      <p className={classes.note}>
        <Said text={withFix(server.lastError || "No tools are known of this server yet.", server.fix)} />
      </p>
    );
  }
  const all = tools.map((tool) => tool.name);
  return tools.map((tool) => (
    <div key={tool.name} className={classes.line}>
      <Checkbox
        size="xs"
        label={tool.title || tool.name}
        checked={what === "all" || (what !== "none" && what.includes(tool.name))}
        onChange={() => onChoose(toggleTool(what, all, tool.name))}
      />
      <Pin tool={tool} isPinned={pinned.includes(tool.qualifiedName)} onPin={() => onPin(tool.qualifiedName)} />
    </div>
  ));
}

/** What was left out of the last message, because there was no room for all tools. */
function LeftOut() {
  const told = useApp(({ open }) => {
    const notices = open?.order.map((id) => open.items.get(id)).filter((item) => item?.kind === "notice") ?? [];
    const last = notices.findLast(({ data: { code } }) => code === "tools_left_out");
    const { servers = {} } = last?.data ?? {};
    return last && Object.keys(servers).length ? last.text : "";
  });
  if (!told) return null;
  return (
    <p className={classes.note}>
      {told} Pin those you need, or use fewer servers.
    </p>
  );
}

/** Say how many tools are used, or why there are none. */
function extent(server: ServerView, what: Chosen): string {
  if (Array.isArray(what)) return `${what.length} of ${server.toolCount} tools`;
  const isKnown = server.toolCount > 0 || server.state === "connected";
  return isKnown ? counted(server.toolCount, "tool") : (server.label.split(":")[0] ?? "");
}

function ServerChoice(props: ServerChoiceProps) {
  const { server, what, onChoose } = props;
  const [isOpen, setOpen] = useState(false);
  return (
    <li>
      <div className={classes.line}>
        <Checkbox
          label={server.name}
          disabled={!server.enabled}
          checked={what === "all"}
          indeterminate={Array.isArray(what)}
          onChange={() => onChoose(what === "none" ? "all" : "none")}
        />
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          aria-expanded={isOpen}
          aria-label={`Tools of ${server.name}`}
          onClick={() => setOpen(!isOpen)}
        >
          {extent(server, what)}
        </Button>
      </div>
      {isOpen && (
        <div className={classes.tools}>
          <Tools {...props} />
        </div>
      )}
    </li>
  );
}

/** Which servers and tools this conversation uses. */
export function ToolChoice({ selection, onChange }: { selection: Selection | null; onChange: (next: Selection | null) => void }) {
  const servers = useApp((state) => state.servers.servers);
  return (
    <fieldset className="ph-fieldset">
      <legend>Tools of MCP servers</legend>
      {servers.length === 0 && <p className={classes.note}><Said text="No MCP server is set up; Settings, MCP adds one." /></p>}
      <LeftOut />
      <ul className={classes.list}>
        {servers.map((server) => (
          <ServerChoice
            key={server.id}
            server={server}
            what={chosen(selection, server)}
            pinned={selection?.pinned ?? []}
            onPin={(tool) => onChange(togglePin(selection, tool))}
            onChoose={(what) => onChange(choose(selection, servers, server, what))}
          />
        ))}
      </ul>
    </fieldset>
  );
}
