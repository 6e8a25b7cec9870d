import { Button } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { api, errorText } from "../api/client";
import type { ServerTool, ToolTrial } from "../api/types";
import { LongText } from "../chat/LongText";
import { SchemaForm } from "../forms/SchemaForm";
import { JsonTree } from "../json/JsonTree";
import { rasterUrl } from "../markdown/raster";
import { CheckIcon, CrossCircleIcon } from "../shell/icons";
import { Failure } from "../settings/Warning";
import { useApp } from "../store/store";
import { SignInDialog } from "./SignInDialog";
import classes from "./Tools.module.css";
import { latency } from "./words";

/** Return text as data when it is a JSON object or list, else undefined. */
function dataOf(text: string): object | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

function Part({ part }: { part: Record<string, unknown> }) {
  if (part.type === "text") return null;
  const url = part.type === "image" && typeof part.data === "string" ? rasterUrl(part.data) : null;
  if (url) return <img className={classes.image} src={url} alt="Result of the tool" />;
  return <JsonTree value={part} label={`Result part: ${String(part.type)}`} />;
}

function Result({ trial }: { trial: ToolTrial }) {
  const data = trial.structured ?? dataOf(trial.text);
  return (
    <div className={classes.result}>
      <p role="status" className={`ph-with-icon ph-outcome ${classes.outcome}`} data-ok={trial.ok}>
        {trial.ok ? <CheckIcon size={15} /> : <CrossCircleIcon size={15} />}
        {trial.ok ? "Completed" : "Failed"} in {latency(trial.elapsedMs / 1000)}
      </p>
      {data !== undefined && <JsonTree value={data} label="Result as data" />}
      {trial.text && <LongText text={trial.text} label="Result" />}
      {trial.content.map((part, at) => (
        <Part key={at} part={part} />
      ))}
      {!trial.text && trial.content.length === 0 && data === undefined && <p className={classes.quiet}>The result is empty.</p>}
    </div>
  );
}

function SignIn({ serverId }: { serverId: string }) {
  const [isOpen, setOpen] = useState(false);
  const server = useApp((state) => state.servers.servers.find(({ id }) => id === serverId)) ?? null;
  return (
    <div>
      <Button size="compact-sm" disabled={!server} onClick={() => setOpen(true)}>
        Sign in…
      </Button>
      <SignInDialog server={isOpen ? server : null} onClose={() => setOpen(false)} />
    </div>
  );
}

function focusFirst(place: HTMLElement | null): void {
  const first = place?.querySelector<HTMLElement>("input, textarea") ?? place?.querySelector<HTMLElement>("[type=submit]");
  first?.focus();
}

/** Calls a tool by hand, with a form made from its schema. */
export function TryTool({ tool }: { tool: ServerTool }) {
  const [isOpen, setOpen] = useState(false);
  const place = useRef<HTMLElement>(null);
  // The button that opened it is gone: the cursor goes on in the form.
  useEffect(() => focusFirst(place.current), [isOpen]);
  const [isRunning, setRunning] = useState(false);
  const [trial, setTrial] = useState<ToolTrial | null>(null);
  const [problem, setProblem] = useState("");
  const run = (given: Record<string, unknown>) => {
    setRunning(true);
    setTrial(null);
    setProblem("");
    api
      .tryTool(tool.serverId, tool.name, given)
      .then(setTrial, (error: unknown) => setProblem(errorText(error)))
      .finally(() => setRunning(false));
  };
  if (!isOpen) {
    return (
      <div>
        <Button size="compact-sm" variant="default" onClick={() => setOpen(true)}>
          Try it
        </Button>
      </div>
    );
  }
  return (
    <section ref={place} className={classes.trial} aria-label={`Try ${tool.qualifiedName}`}>
      <p className={classes.quiet}>This calls the tool for real, without a model and without asking again.</p>
      <SchemaForm schema={tool.inputSchema} submitLabel={isRunning ? "Running…" : "Run"} disabled={isRunning} allowJson onSubmit={run} />
      <Failure message={problem} />
      {trial && <Result trial={trial} />}
      {trial?.needsSignIn && <SignIn serverId={tool.serverId} />}
    </section>
  );
}
