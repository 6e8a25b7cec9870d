import { Button, Radio, SegmentedControl, Switch, useMantineColorScheme, type MantineColorScheme } from "@mantine/core";
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { ConfigView } from "../api/types";
import { boxKeys } from "../composer/keys";
import { keyLabel } from "../shell/commands";
import { CopyButton } from "../shell/CopyButton";
import { tell } from "../shell/messages";
import { navigate, roomPath } from "../shell/router";
import { useApp } from "../store/store";
import { changeConfig, loadConfig, signOut } from "./actions";
import { Described, useChosen } from "./Described";
import { Keeping } from "./Keeping";
import { Meaning } from "./Meaning";
import { Part } from "./Part";
import classes from "./Settings.module.css";
import { Place, Warning } from "./Warning";

/** A `config.json` that cannot be read: where and why. */
export function ConfigProblem() {
  const problem = useApp((state) => state.config?.problem ?? null);
  if (!problem) return null;
  return (
    <Warning title="The settings file cannot be read">
      <Place {...problem} />
      <p>{problem.message} The last good version stays in force.</p>
    </Warning>
  );
}

function ColorScheme() {
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  return (
    <SegmentedControl
      aria-label="Colours"
      data={[
        { value: "auto", label: "As the system" },
        { value: "light", label: "Light" },
        { value: "dark", label: "Dark" },
      ]}
      value={colorScheme}
      onChange={(value) => setColorScheme(value as MantineColorScheme)}
    />
  );
}

/** Return what the keys of a message box do, in words. */
function keyWords(enterSends: boolean): string {
  const { send, breaks } = boxKeys(enterSends);
  return `${keyLabel(send[0] ?? "")} sends, ${keyLabel(breaks)} breaks the line`;
}

function Sending({ enterSends }: { enterSends: boolean }) {
  const [chosen, change] = useChosen(enterSends, (value) => changeConfig({ enterSends: value }));
  return (
    <Radio.Group
      aria-label="Sending a message"
      value={chosen ? "enter" : "mod"}
      onChange={(value) => change(value === "enter")}
    >
      <div className={classes.stack}>
        <Radio value="enter" label={keyWords(true)} />
        <Radio value="mod" label={keyWords(false)} />
      </div>
    </Radio.Group>
  );
}

function Facts({ config }: { config: ConfigView }) {
  return (
    <dl className={`ph-facts ${classes.factList}`}>
      <dt>Data folder</dt>
      <dd>
        <code className={classes.place}>{config.dataFolder}</code>
        <CopyButton value={config.dataFolder} label="Copy the path" />
      </dd>
      <dt>Database</dt>
      <dd>{config.database === "sqlite" ? "SQLite, in the data folder" : "PostgreSQL"}</dd>
      <dt>Version</dt>
      <dd>{config.version}</dd>
    </dl>
  );
}

/** The switch of the traffic panel, and the way to it. */
function Traffic() {
  const [recording, setRecording] = useState<boolean | null>(null);
  useEffect(() => {
    let isCurrent = true;
    // After a number that is never reached: only whether it is on is of interest here.
    api.traffic(Number.MAX_SAFE_INTEGER).then((page) => isCurrent && setRecording(page.recording), () => undefined);
    return () => {
      isCurrent = false;
    };
  }, []);
  const change = (on: boolean) => {
    setRecording(on);
    api.switchTraffic(on).then((page) => setRecording(page.recording), tell);
  };
  return (
    <>
      <Switch
        label="Record MCP messages"
        description="Every message to and from the servers, in memory only, with secrets masked."
        disabled={recording === null}
        checked={recording ?? false}
        onChange={(event) => change(event.currentTarget.checked)}
      />
      <Button variant="default" size="xs" onClick={() => navigate(roomPath("traffic"))}>
        Open the traffic panel
      </Button>
    </>
  );
}

/** What is not about models: keys, restarts, colours, debugging, facts, signing out. */
export function GeneralTab() {
  const config = useApp((state) => state.config);
  useEffect(() => void loadConfig().catch(tell), []);
  if (!config) return null;
  return (
    <>
      <ConfigProblem />
      <Part title="Colours">
        <ColorScheme />
      </Part>
      <Part title="Sending a message">
        <Sending enterSends={config.enterSends} />
        <p className="ph-explained">On a touch screen Enter breaks the line and the button sends.</p>
      </Part>
      <Described
        tab="general"
        around={{
          "Keeping conversations": (fields) => <Keeping>{fields}</Keeping>,
          "Finding by meaning": () => <Meaning embeddings={config.embeddings} about={config.about} />,
        }}
      />
      <Part title="Debugging">
        <Traffic />
      </Part>
      <Part title="This server">
        <Facts config={config} />
      </Part>
      <Part title="This browser">
        <p className="ph-explained">
          Signing out ends this browser’s session; another link from the server opens a new one.
        </p>
        <Button variant="default" size="xs" onClick={() => void signOut().catch(tell)}>
          Sign out
        </Button>
      </Part>
    </>
  );
}
