import { useEffect } from "react";
import { Servers } from "../servers/Servers";
import { tell } from "../shell/messages";
import { loadConfig } from "./actions";
import { Described } from "./Described";
import { ConfigProblem } from "./GeneralTab";
import { Profiles } from "./Profiles";

/** Profiles and MCP servers. */
export function McpTab() {
  useEffect(() => void loadConfig().catch(tell), []);
  return (
    <>
      <ConfigProblem />
      <Profiles />
      <Servers />
      <Described tab="mcp" />
    </>
  );
}
