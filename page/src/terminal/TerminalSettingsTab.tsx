import { NumberInput, Radio, Select, Switch } from "@mantine/core";
import { useEffect, useState } from "react";
import type { SandboxView, TerminalSettings } from "../api/types";
import { anything } from "../policy/pattern";
import { newRule } from "../policy/ruleDraft";
import { Rules, type Topic } from "../policy/Rules";
import { usePolicy } from "../policy/usePolicy";
import { changeConfig, loadConfig } from "../settings/actions";
import { ConfigProblem } from "../settings/GeneralTab";
import { Part } from "../settings/Part";
import classes from "../settings/Settings.module.css";
import { Failure, Warning } from "../settings/Warning";
import { tell } from "../shell/messages";
import { useApp } from "../store/store";
import { isAboutCommands, sandboxMeans } from "./sandbox";

const shells = ["bash", "zsh", "fish", "sh"];
const SECONDS_IN_A_DAY = 86_400;

const commands: Topic = {
  title: "Rules for commands",
  explained:
    "A command that no rule allows is asked about; one that a rule denies never runs. A rule counts only where the " +
    "words of a command are certain, and it is tried on its examples when it is saved. All rules are under Permissions.",
  none: "No rules for commands yet.",
  isAbout: isAboutCommands,
  first: () => ({ ...newRule(), pattern: { ...anything, tool: "terminal_operations.run_command" } }),
};

interface HeldProps {
  terminal: TerminalSettings;
  sandbox: SandboxView;
  change: (next: Partial<TerminalSettings>) => void;
}

function Held({ terminal, sandbox, change }: HeldProps) {
  return (
    <>
      {sandbox.warning && (
        <Warning title="Commands run without a sandbox">
          <p>{sandbox.warning}</p>
        </Warning>
      )}
      {terminal.sandbox === "on" && <p className={classes.explained}>{sandboxMeans(sandbox.kind)}</p>}
      <Radio.Group
        aria-label="Sandbox"
        value={terminal.sandbox}
        onChange={(value) => change({ sandbox: value as TerminalSettings["sandbox"] })}
      >
        <div className={classes.stack}>
          <Radio value="on" label="Run commands in the sandbox" description="They write only in the working directory; secrets and our own data are hidden from them." />
          <Radio value="off" label="Run them without it" description="They may do whatever you may do on this machine. Every command is then asked about as one that can send data away." />
        </div>
      </Radio.Group>
      <Switch
        label="Let commands use the network unasked"
        description="Otherwise a command that needs the network says so, and you are asked."
        checked={terminal.network}
        onChange={(event) => change({ network: event.currentTarget.checked })}
      />
    </>
  );
}

function Time({ saved, change }: { saved: number; change: (next: Partial<TerminalSettings>) => void }) {
  const [value, setValue] = useState<string | number>(saved);
  useEffect(() => setValue(saved), [saved]);
  const save = () => {
    const seconds = Number(value);
    if (value !== "" && Number.isFinite(seconds) && seconds !== saved) change({ timeout: seconds });
    else setValue(saved);
  };
  return (
    <NumberInput
      label="Seconds that a command may take"
      description="When a call does not say otherwise; what takes longer is ended with everything it started."
      min={1}
      max={SECONDS_IN_A_DAY}
      clampBehavior="blur"
      allowDecimal={false}
      maw={320}
      value={value}
      onChange={setValue}
      onBlur={save}
    />
  );
}

function CommandRules() {
  const { policy, problem, keep } = usePolicy();
  return (
    <>
      <Failure message={problem} />
      {policy && <Rules policy={policy} onChange={keep} topic={commands} />}
    </>
  );
}

/** What a person sets about commands and terminals. */
export default function TerminalSettingsTab() {
  const config = useApp((state) => state.config);
  // The choice shows at once; what the server kept has the last word.
  const [chosen, setChosen] = useState<TerminalSettings | null>(null);
  useEffect(() => void loadConfig().catch(tell), []);
  if (!config) return null;
  const terminal = chosen ?? config.terminal;
  const change = (next: Partial<TerminalSettings>) => {
    const wanted = { ...terminal, ...next };
    setChosen(wanted);
    changeConfig({ terminal: wanted })
      .catch(tell)
      .finally(() => setChosen((now) => (now === wanted ? null : now)));
  };
  return (
    <>
      <ConfigProblem />
      <Part title="Shell">
        <Select
          aria-label="Shell"
          description="For terminals that are opened from now on."
          data={shells}
          allowDeselect={false}
          maw={320}
          value={terminal.shell}
          onChange={(shell) => shell && change({ shell })}
        />
      </Part>
      <Part title="Sandbox">
        <Held terminal={terminal} sandbox={config.sandbox} change={change} />
      </Part>
      <Part title="Time">
        <Time saved={terminal.timeout} change={change} />
      </Part>
      <CommandRules />
    </>
  );
}
