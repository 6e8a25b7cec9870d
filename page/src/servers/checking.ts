import { useEffect, useRef, useState } from "react";
import { api, errorText } from "../api/client";
import type { Consent, ServerCheck, ServerChecked } from "../api/types";

/** How far a check is. */
export type Check =
  | { name: "none" }
  | { name: "running" }
  | { name: "asking"; consent: Consent }
  | { name: "done"; result: ServerChecked };

const failed = (message: string): ServerChecked => ({
  ok: false,
  message,
  fix: "",
  consent: null,
  fingerprint: "",
  needsSignIn: false,
  tools: [],
  toolCount: 0,
  keys: [],
  seconds: 0,
});

const none: Check = { name: "none" };

/** Try what was typed: the server is started once and nothing is kept. `onDone` hears what came of it. */
export function useCheck(onDone: (result: ServerChecked) => void) {
  const [check, setCheck] = useState<Check>(none);
  const running = useRef<AbortController>(undefined);
  /** The command that the person agreed to in this form, and what was started: that, with the keys they typed. */
  const [agreed, setAgreed] = useState("");
  const [started, setStarted] = useState("");
  useEffect(() => () => running.current?.abort(), []);
  const stop = () => {
    running.current?.abort();
    setCheck(none);
  };
  const start = (making: Promise<Pick<ServerCheck, "server" | "id">>, fingerprint = agreed) => {
    running.current?.abort();
    const mine = new AbortController();
    running.current = mine;
    setAgreed(fingerprint);
    setCheck({ name: "running" });
    const done = (result: ServerChecked) => {
      setCheck({ name: "done", result });
      setStarted(result.fingerprint);
      onDone(result);
    };
    const checked = making.then((made) => api.checkServer({ ...made, fingerprint }, mine.signal));
    checked.then(
      (result) => {
        if (mine.signal.aborted) return;
        if (result.consent) setCheck({ name: "asking", consent: result.consent });
        else done(result);
      },
      (error: unknown) => {
        if (!mine.signal.aborted) done(failed(errorText(error)));
      },
    );
  };
  return { check, started, start, stop };
}
