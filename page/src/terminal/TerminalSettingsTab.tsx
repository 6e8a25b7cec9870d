import { Radio, Switch } from "@mantine/core";
import { useEffect } from "react";
import type { SandboxView, TerminalSettings } from "../api/types";
import { anything } from "../policy/pattern";
import { newRule } from "../policy/ruleDraft";
import { Rules, type Topic } from "../policy/Rules";
import { usePolicy } from "../policy/usePolicy";
import { changeConfig, loadConfig } from "../settings/actions";
import { Described, useChosen } from "../settings/Described";
import { ConfigProblem } from "../settings/GeneralTab";
import { Part } from "../settings/Part";
import classes from "../settings/Settings.module.css";
import { Failure, Warning } from "../settings/Warning";
import { tell } from "../shell/messages";
import { useApp } from "../store/store";
import { isAboutCommands, sandboxMeans } from "./sandbox";

const commands: Topic = {
  title: "Rules for commands",
  explained:
    "A command that no rule allows is asked about; one that a rule denies never runs. A rule counts only where the " +
    "words of a command are certain, and it is tried on its examples when it is saved. All rules are under Permissions.",
  none: "No rules for commands yet.",
  isAbout: isAboutCommands,
  first: () => ({ ...newRule(), pattern: { ...anything, tool: "terminal_operations.run_command" } }),
};

type Holding = Pick<TerminalSettings, "sandbox" | "network">;

function Held({ saved, sandbox }: { saved: Holding; sandbox: SandboxView }) {
  const kept = { sandbox: saved.sandbox, network: saved.network };
  const [terminal, choose] = useChosen(kept, (next) => changeConfig({ terminal: next }));
  const change = (next: Partial<Holding>) => choose({ ...terminal, ...next });
  return (
    <>
      {sandbox.warning && (
        <Warning title="Commands run without a sandbox">
          <p>{sandbox.warning}</p>
        </Warning>
      )}
      {terminal.sandbox === "on" && <p className="ph-explained">{sandboxMeans(sandbox.kind)}</p>}
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
  useEffect(() => void loadConfig().catch(tell), []);
  if (!config) return null;
  return (
    <>
      <ConfigProblem />
      <Described tab="terminal" part="Shell" />
      <Part title="Sandbox">
        <Held saved={config.terminal} sandbox={config.sandbox} />
      </Part>
      <Described tab="terminal" part="Time" />
      <CommandRules />
    </>
  );
}
