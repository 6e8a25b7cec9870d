import { Button, Code, Loader, Title } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { load } from "../store/session";
import { answerHeld } from "../store/signInAnswer";
import classes from "./App.module.css";
import { callbackPath } from "./router";

/** Something is on its way. */
export function Loading() {
  return (
    <div className={classes.standstill} role="status">
      <Loader size="sm" type="dots" aria-hidden />
      <p>Loading…</p>
    </div>
  );
}

/** Someone came back from a sign-in in a browser that may not finish it: the other way. */
function Elsewhere() {
  const { copied, copy } = useClipboard();
  return (
    <>
      <p>
        Your sign-in to a server goes on here once this browser is let in. Or copy the address that you were sent back to, and
        paste it where you began.
      </p>
      <Button variant="default" onClick={() => copy(location.origin + callbackPath + answerHeld())}>
        {copied ? "Copied" : "Copy the address"}
      </Button>
    </>
  );
}

/** This browser has no session: how to get one. */
export function SignedOut() {
  return (
    <main className={classes.standstill}>
      <Title order={1} size="h3">
        Open the link from the terminal
      </Title>
      <p>
        This browser is not signed in. Open the link that pilothouse printed when it started, or run{" "}
        <Code>pilothouse open</Code> for a new one. Each link works once.
      </p>
      {answerHeld() && <Elsewhere />}
    </main>
  );
}

/** The page could not be drawn: why, and a way to try again. */
export function Failed({ message }: { message: string }) {
  return (
    <main className={classes.standstill}>
      <Title order={1} size="h3">
        The page could not be loaded
      </Title>
      <p role="alert">{message}</p>
      <Button variant="default" onClick={() => void load()}>
        Try again
      </Button>
    </main>
  );
}
