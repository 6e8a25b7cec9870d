import { Button, NumberInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { api, errorText } from "../api/client";
import type { ServerView } from "../api/types";
import { numberOrNothing } from "../settings/ModelFields";
import { changeServers } from "./actions";
import { secondsError } from "./serverDraft";
import classes from "./Tools.module.css";
import { USUAL_SECONDS } from "./words";

interface ToolTimeProps {
  server: ServerView;
  tool: string;
  /** What is offered where the time that it has was too short. */
  suggested?: number | undefined;
}

/** How long a call of one tool may take; without a number it is as long as its server says. */
export function ToolTime({ server, tool, suggested }: ToolTimeProps) {
  const own = server.settings.toolTimes?.[tool]?.total ?? "";
  const usual = server.settings.times?.total ?? USUAL_SECONDS;
  const [typed, setTyped] = useState<number | "">(suggested ?? own);
  const [isBusy, setBusy] = useState(false);
  const [said, setSaid] = useState("");
  const [problem, setProblem] = useState("");
  const save = (event: FormEvent) => {
    event.preventDefault();
    const wrong = secondsError(typed) ?? "";
    setProblem(wrong);
    setSaid("");
    if (wrong) return;
    setBusy(true);
    changeServers(api.patchServer(server.id, { toolTimes: { [tool]: typed === "" ? null : { total: typed } } }))
      .then(
        () => setSaid(`Calls of ${tool} may take ${typed === "" ? usual : typed} s from now on.`),
        (error: unknown) => setProblem(errorText(error)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <form className={classes.time} onSubmit={save} noValidate>
      <NumberInput
        size="xs"
        label="A call may take"
        description={`Seconds. Empty: ${usual}, as the server.`}
        placeholder={String(usual)}
        min={1}
        autoFocus={suggested !== undefined}
        value={typed}
        error={problem}
        onChange={(value) => setTyped(numberOrNothing(value))}
      />
      <Button type="submit" size="xs" variant="default" loading={isBusy} disabled={typed === own}>
        Save
      </Button>
      <span role="status" className={classes.quiet}>
        {said}
      </span>
    </form>
  );
}
