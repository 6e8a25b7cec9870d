import { Switch, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { api, errorText } from "../api/client";
import type { ServerTool, ServerView } from "../api/types";
import { Failure } from "../settings/Warning";
import { Dialog } from "../shell/Dialog";
import { tell } from "../shell/messages";
import { ShowMore } from "../shell/More";
import { changeServers } from "./actions";
import classes from "./Dialogs.module.css";
import toolClasses from "./Tools.module.css";
import { ToolDetails, ToolLine } from "./ToolView";

/** From this many tools on, a field finds them. */
const MANY = 10;
/** Tools drawn before someone asks for more. */
const PAGE = 100;

/** The tools of a server; asked anew whenever their number or the switches change. */
function useTools(server: ServerView) {
  const [tools, setTools] = useState<readonly ServerTool[] | null>(null);
  const [problem, setProblem] = useState("");
  const [round, setRound] = useState(0);
  const { id, toolCount, changedTools, quarantinedTools, state } = server;
  const off = (server.settings.offTools ?? []).join("\n");
  useEffect(() => {
    let isCurrent = true;
    api.serverTools(id).then(
      (list) => isCurrent && setTools(list.tools),
      (error: unknown) => isCurrent && setProblem(errorText(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [id, toolCount, changedTools, quarantinedTools, state, off, round]);
  return { tools, problem, reload: () => setRound((now) => now + 1) };
}

function OnOff({ server, tool }: { server: ServerView; tool: ServerTool }) {
  const off = server.settings.offTools ?? [];
  const [wanted, setWanted] = useState<boolean | null>(null);
  const isOn = wanted ?? !off.includes(tool.name);
  const change = (on: boolean) => {
    setWanted(on);
    const offTools = on ? off.filter((name) => name !== tool.name) : [...off, tool.name];
    changeServers(api.patchServer(server.id, { offTools }))
      .catch(tell)
      .finally(() => setWanted(null));
  };
  return (
    <Switch
      size="xs"
      aria-label={`Offer ${tool.name}`}
      disabled={tool.state === "quarantined"}
      checked={isOn && tool.state !== "quarantined"}
      onChange={(event) => change(event.currentTarget.checked)}
    />
  );
}

function Tools({ server }: { server: ServerView }) {
  const { tools, problem, reload } = useTools(server);
  const [query, setQuery] = useState("");
  const [most, setMost] = useState(PAGE);
  const wanted = query.trim().toLowerCase();
  const shown = (tools ?? []).filter((tool) => `${tool.name} ${tool.title} ${tool.description}`.toLowerCase().includes(wanted));
  const confirmed = () => {
    reload();
    void changeServers(Promise.resolve()).catch(tell);
  };
  return (
    <div className={classes.stack}>
      <Failure message={problem} />
      {tools && tools.length === 0 && (
        <p className="ph-lead">
          {server.state === "connected" ? "This server offers no tools." : "Its tools are known once it has been connected."}
        </p>
      )}
      {tools && tools.length > MANY && (
        <TextInput
          size="xs"
          aria-label="Find a tool"
          placeholder={`Find among ${tools.length} tools`}
          value={query}
          onChange={(event) => setQuery(event.currentTarget.value)}
        />
      )}
      <ul className={toolClasses.tools}>
        {shown.slice(0, most).map((tool) => (
          <ToolLine key={tool.name} tool={tool} isQualified={false} aside={<OnOff server={server} tool={tool} />}>
            {() => <ToolDetails tool={tool} onChanged={confirmed} />}
          </ToolLine>
        ))}
      </ul>
      <ShowMore left={shown.length - most} onMore={() => setMost(most + 5 * PAGE)} />
      {tools && tools.length > 0 && shown.length === 0 && <p className="ph-lead">No tool fits.</p>}
    </div>
  );
}

/** The tools of one server: what they take, which are offered, what changed. */
export function ToolsDialog({ server, onClose }: { server: ServerView | null; onClose: () => void }) {
  return (
    <Dialog about={server} title={({ name }) => `Tools of ${name}`} size="lg" onClose={onClose}>
      {(shown) => <Tools key={shown.id} server={shown} />}
    </Dialog>
  );
}
