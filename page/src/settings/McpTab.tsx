import { useEffect } from "react";
import { Servers } from "../servers/Servers";
import { tell } from "../shell/messages";
import { useApp } from "../store/store";
import { changeConfig, loadConfig } from "./actions";
import { ConfigProblem } from "./GeneralTab";
import { NumberSetting } from "./NumberSetting";
import { Part } from "./Part";
import { Profiles } from "./Profiles";

const MOST_SERVERS = 500;

/** Profiles and MCP servers. */
export function McpTab() {
  const config = useApp((state) => state.config);
  useEffect(() => void loadConfig().catch(tell), []);
  return (
    <>
      <ConfigProblem />
      <Profiles />
      <Servers />
      {config && (
        <Part title="Room for local servers">
          <NumberSetting
            label="Local servers that run at once"
            description={`Left empty: ${config.usualLocalServers}, by the memory of this machine. One more is not started; it says which could be stopped.`}
            usual={config.usualLocalServers}
            max={MOST_SERVERS}
            saved={config.localServers}
            save={(localServers) => changeConfig({ localServers })}
          />
        </Part>
      )}
    </>
  );
}
