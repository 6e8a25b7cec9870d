import { Button, Radio, SegmentedControl, Switch, useMantineColorScheme, type MantineColorScheme } from "@mantine/core";
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { ConfigPatch, ConfigView } from "../api/types";
import { boxKeys } from "../composer/keys";
import { keyLabel } from "../shell/commands";
import { CopyButton } from "../shell/CopyButton";
import { tell } from "../shell/messages";
import { navigate, roomPath } from "../shell/router";
import { useApp } from "../store/store";
import { changeConfig, loadConfig, signOut } from "./actions";
import { BuiltInTimes } from "./BuiltInTimes";
import { Keeping } from "./Keeping";
import { Part } from "./Part";
import classes from "./Settings.module.css";
import { Place, Warning } from "./Warning";

type Resume = ConfigView["resumeAfterRestart"];

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

interface ChoiceProps {
  label: string;
  saved: string;
  options: Record<string, string>;
  patch: (value: string) => ConfigPatch;
}

/** One of several, kept by the server. */
function Choice({ label, saved, options, patch }: ChoiceProps) {
  // The choice shows at once; what the server kept has the last word.
  const [chosen, setChosen] = useState<string | null>(null);
  const change = (value: string) => {
    setChosen(value);
    changeConfig(patch(value))
      .catch(tell)
      .finally(() => setChosen(null));
  };
  return (
    <Radio.Group aria-label={label} value={chosen ?? saved} onChange={change}>
      <div className={classes.stack}>
        {Object.entries(options).map(([value, words]) => (
          <Radio key={value} value={value} label={words} />
        ))}
      </div>
    </Radio.Group>
  );
}

function AfterRestart({ saved }: { saved: Resume }) {
  return (
    <Choice
      label="Answers that a restart interrupted"
      saved={saved}
      options={{ auto: "Go on by themselves", ask: "Wait until you say so" }}
      patch={(value) => ({ resumeAfterRestart: value as Resume })}
    />
  );
}

/** Return what the keys of a message box do, in words. */
function keyWords(enterSends: boolean): string {
  const { send, breaks } = boxKeys(enterSends);
  return `${keyLabel(send[0] ?? "")} sends, ${keyLabel(breaks)} breaks the line`;
}

function Sending({ enterSends }: { enterSends: boolean }) {
  return (
    <Choice
      label="Sending a message"
      saved={enterSends ? "enter" : "mod"}
      options={{ enter: keyWords(true), mod: keyWords(false) }}
      patch={(value) => ({ enterSends: value === "enter" })}
    />
  );
}

function Facts({ config }: { config: ConfigView }) {
  return (
    <dl className={classes.factList}>
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
        <p className={classes.explained}>On a touch screen Enter breaks the line and the button sends.</p>
      </Part>
      <Part title="Answers that a restart interrupted">
        <AfterRestart saved={config.resumeAfterRestart} />
      </Part>
      <BuiltInTimes config={config} />
      <Keeping config={config} />
      <Part title="Debugging">
        <Traffic />
      </Part>
      <Part title="This server">
        <Facts config={config} />
      </Part>
      <Part title="This browser">
        <p className={classes.explained}>
          Signing out ends this browser’s session; another link from the server opens a new one.
        </p>
        <Button variant="default" size="xs" onClick={() => void signOut().catch(tell)}>
          Sign out
        </Button>
      </Part>
    </>
  );
}
