import { Button, Group, Title } from "@mantine/core";
import { useEffect, useState } from "react";
import { api, ApiError } from "../api/client";
import { PageLink } from "../shell/links";
import classes from "../shell/App.module.css";
import { navigate, settingsPath, signInPath } from "../shell/router";
import { Loading } from "../shell/Standstill";
import { answerHeld, dropAnswer, serverOf } from "../store/signInAnswer";
import { getState, setState } from "../store/store";
import { tellFailed } from "./signIns";

type Outcome = { name: string } | { problem: string; serverId: string };

/** Hand over what the issuer sent along; nothing of it is ever shown. */
async function finish(answer: string): Promise<Outcome> {
  const serverId = serverOf(answer);
  try {
    const { name } = await api.finishSignIn(answer);
    dropAnswer();
    return { name };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, problem } = error;
    if (status === 401) setState({ phase: { name: "signed-out", message: problem.message } });
    // It counts once, whatever came of it; but it must have arrived.
    else if (status !== 0 && status < 500) {
      dropAnswer();
      tellFailed(serverId, problem.message);
    }
    return { problem: problem.message, serverId };
  }
}

function Failed({ problem, serverId, onAgain }: { problem: string; serverId: string; onAgain: () => void }) {
  const isHeld = answerHeld() !== "";
  const isKnown = getState().servers.servers.some(({ id }) => id === serverId);
  return (
    <>
      <Title order={1} size="h3">
        You are not signed in
      </Title>
      <p role="alert">{problem}</p>
      <Group gap="xs">
        {(isHeld || isKnown) && <Button onClick={isHeld ? onAgain : () => navigate(signInPath(serverId))}>Retry</Button>}
        <PageLink path={settingsPath("mcp")}>Go to the servers</PageLink>
      </Group>
    </>
  );
}

/** Where a browser comes back to after its person signed in to a server: takes the answer along, and says what came of it. */
export default function Callback() {
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [tries, setTries] = useState(1);
  const [answer] = useState(answerHeld);
  useEffect(() => {
    setOutcome(null);
    if (answer) void finish(answer).then(setOutcome);
  }, [answer, tries]);
  if (answer && !outcome) return <Loading />;
  return (
    <main className={classes.standstill}>
      {outcome && "name" in outcome && (
        <>
          <Title order={1} size="h3">
            {`You are signed in to ${outcome.name}.`}
          </Title>
          <p>You can close this tab.</p>
          <PageLink path={settingsPath("mcp")}>Go to the servers</PageLink>
        </>
      )}
      {outcome && "problem" in outcome && <Failed {...outcome} onAgain={() => setTries(tries + 1)} />}
      {!outcome && (
        <>
          <p>No sign-in waits here.</p>
          <PageLink path={settingsPath("mcp")}>Go to the servers</PageLink>
        </>
      )}
    </main>
  );
}
