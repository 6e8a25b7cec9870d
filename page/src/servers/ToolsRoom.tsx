import { Select, TextInput } from "@mantine/core";
import { useDeferredValue, useEffect, useMemo, useState } from "react";
import { api, errorText } from "../api/client";
import type { ServerTool, ToolList } from "../api/types";
import { Failure } from "../settings/Warning";
import { SearchIcon } from "../shell/icons";
import { ShowMore } from "../shell/More";
import { useApp } from "../store/store";
import classes from "./Rooms.module.css";
import toolClasses from "./Tools.module.css";
import { ToolDetails, ToolLine } from "./ToolView";
import { TryTool } from "./TryTool";
import { counted } from "./words";

/** Tools drawn before someone asks for more. */
const PAGE = 100;

/** All tools; asked anew when a server's list or switches change. */
function useAllTools() {
  const key = useApp((state) =>
    state.servers.servers
      .map(({ id, toolCount, changedTools, quarantinedTools, settings }) =>
        [id, toolCount, changedTools, quarantinedTools, settings.offTools].join(" "),
      )
      .join("\n"),
  );
  const [tools, setTools] = useState<readonly ServerTool[] | null>(null);
  const [problem, setProblem] = useState("");
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    const show = (list: ToolList) => isCurrent && setTools(list.tools);
    api.tools(show).then(
      (list) => {
        show(list);
        if (isCurrent) setProblem("");
      },
      (error: unknown) => isCurrent && setProblem(errorText(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [key, round]);
  return { tools, problem, reload: () => setRound((now) => now + 1) };
}

/** What is looked at of each tool; made once, for whoever types looks at all of them with every letter. */
const texts = new WeakMap<ServerTool, string>();

function textOf(tool: ServerTool): string {
  const known = texts.get(tool);
  if (known !== undefined) return known;
  const made = `${tool.qualifiedName} ${tool.title} ${tool.description}`.toLowerCase();
  texts.set(tool, made);
  return made;
}

/** Return the tools that have every typed word somewhere, of one server or of all. */
export function filtered(tools: readonly ServerTool[], query: string, serverId: string | null): ServerTool[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return tools.filter((tool) => {
    if (serverId && tool.serverId !== serverId) return false;
    return words.every((word) => textOf(tool).includes(word));
  });
}

interface FiltersProps {
  query: string;
  serverId: string | null;
  servers: readonly { value: string; label: string }[];
  onQuery: (query: string) => void;
  onServer: (serverId: string | null) => void;
}

function Filters({ query, serverId, servers, onQuery, onServer }: FiltersProps) {
  return (
    <div className={classes.filters}>
      <TextInput
        className={classes.grow}
        aria-label="Search tools"
        placeholder="Search by name or description"
        leftSection={<SearchIcon size={15} />}
        value={query}
        onChange={(event) => onQuery(event.currentTarget.value)}
      />
      <Select
        className={classes.choice}
        aria-label="Server"
        placeholder="All servers"
        clearable
        searchable={servers.length > 10}
        data={[...servers]}
        value={serverId}
        onChange={onServer}
      />
    </div>
  );
}

function List({ tools, onChanged }: { tools: readonly ServerTool[]; onChanged: () => void }) {
  const [shown, setShown] = useState(PAGE);
  return (
    <>
      <ul className={toolClasses.tools}>
        {tools.slice(0, shown).map((tool) => (
          <ToolLine key={tool.wireName + tool.serverId + tool.name} tool={tool} isQualified>
            {() => (
              <>
                <ToolDetails tool={tool} onChanged={onChanged} />
                {tool.state !== "quarantined" && <TryTool tool={tool} />}
              </>
            )}
          </ToolLine>
        ))}
      </ul>
      <ShowMore left={tools.length - shown} onMore={() => setShown(shown + 5 * PAGE)} />
    </>
  );
}

/** All tools of all servers: find one, read its schema, try it. */
export function ToolsRoom() {
  const { tools, problem, reload } = useAllTools();
  const [query, setQuery] = useState("");
  const [serverId, setServerId] = useState<string | null>(() => new URLSearchParams(location.search).get("server"));
  const searched = useDeferredValue(query);
  const found = useMemo(() => filtered(tools ?? [], searched, serverId), [tools, searched, serverId]);
  const servers = useMemo(() => {
    const names = new Map((tools ?? []).map((tool) => [tool.serverId, tool.server]));
    return [...names].map(([value, label]) => ({ value, label })).sort((a, b) => a.label.localeCompare(b.label));
  }, [tools]);
  return (
    <>
      <Filters query={query} serverId={serverId} servers={servers} onQuery={setQuery} onServer={setServerId} />
      <Failure message={problem} />
      <p role="status" className={`ph-explained ${classes.quiet}`}>
        {tools && (found.length === tools.length ? counted(found.length, "tool") : `${found.length} of ${counted(tools.length, "tool")}`)}
      </p>
      {tools && tools.length === 0 && (
        <p className="ph-explained">
          No server offers tools yet. Add one in the settings; its tools are known once it has been connected.
        </p>
      )}
      {tools && tools.length > 0 && found.length === 0 && <p className="ph-explained">No tool fits.</p>}
      <List key={`${searched} ${serverId}`} tools={found} onChanged={reload} />
    </>
  );
}
