import { useEffect } from "react";
import { tell } from "../shell/messages";
import { loadConfig } from "./actions";
import { ConfigProblem } from "./GeneralTab";
import { Profiles } from "./Profiles";
import classes from "./Settings.module.css";

/** Profiles, and the place where MCP servers will be. */
export function McpTab() {
  useEffect(() => void loadConfig().catch(tell), []);
  return (
    <>
      <ConfigProblem />
      <Profiles />
      <section aria-label="MCP servers">
        <h2 className={classes.sectionTitle}>MCP servers</h2>
        <p className={classes.later}>
          The servers whose tools a model may use will be added, switched on and off and signed in to here.
        </p>
      </section>
    </>
  );
}
