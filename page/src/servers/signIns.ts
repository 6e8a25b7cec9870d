import { useEffect, useState } from "react";
import { api, ApiError, errorText } from "../api/client";
import type { ServerView, SignInStart, SignInStarted } from "../api/types";
import { callbackPath } from "../shell/router";
import { loadServers } from "./actions";

/** The tabs of this browser tell each other what became of a sign-in; that it worked comes from the server. */
const CHANNEL = "pilothouse.sign-in";

interface Failed {
  serverId: string;
  message: string;
}

/** Tell the tab where a sign-in began that it came to nothing. */
export function tellFailed(serverId: string, message: string): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage({ serverId, message } satisfies Failed);
  channel.close();
}

function onFailed(serverId: string, act: (message: string) => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }: MessageEvent<Failed>) => data.serverId === serverId && act(data.message);
  return () => channel.close();
}

/** Where an issuer sends this browser back to. */
export const redirectUri = () => location.origin + callbackPath;

export type Client = Required<Pick<SignInStart, "clientId" | "clientSecret">>;

export type Step =
  | { name: "asking" }
  | { name: "begun"; begun: SignInStarted }
  | { name: "failed"; message: string; needsClient: boolean };

const failed = (message: string, needsClient = false): Step => ({ name: "failed", message, needsClient });

async function begin(id: string, client: Partial<Client>): Promise<Step> {
  try {
    return { name: "begun", begun: await api.beginSignIn(id, { redirectUri: redirectUri(), ...client }) };
  } catch (error) {
    return failed(errorText(error), error instanceof ApiError && error.problem.code === "needs_client");
  }
}

export const timedOut = (seconds: number) => `Authorization timed out after ${seconds / 60} minutes.`;

/** Begin to sign in to a server and follow what becomes of it; `onDone` is called when someone has. */
export function useSignIn({ id, signedIn }: ServerView, onDone: () => void) {
  const [tries, setTries] = useState<{ client: Partial<Client> }>({ client: {} });
  const [step, setStep] = useState<Step>({ name: "asking" });
  const since = signedIn?.since ?? 0;
  const [before] = useState(since);
  useEffect(() => {
    let isCurrent = true;
    setStep({ name: "asking" });
    void begin(id, tries.client).then((next) => isCurrent && setStep(next));
    return () => {
      isCurrent = false;
    };
  }, [id, tries]);
  useEffect(() => {
    if (step.name !== "begun") return;
    const { seconds } = step.begun;
    const timer = setTimeout(() => setStep(failed(timedOut(seconds))), seconds * 1000);
    const stop = onFailed(id, (message) => setStep(failed(message)));
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [id, step]);
  useEffect(() => {
    if (since !== before && since) onDone();
  }, [since, before]);
  /** Take the address that a browser elsewhere was sent back to. */
  const finish = (address: string) =>
    api.finishSignIn(address).then(
      () => loadServers(),
      (error: unknown) => setStep(failed(error instanceof ApiError ? error.problem.message : errorText(error))),
    );
  /** Sign in without a person; what is wrong is returned, and what was typed stays. */
  const asProgram = (client: Client) =>
    api.signInProgram(id, client).then(
      () => loadServers().then(() => ""),
      (error: unknown) => errorText(error),
    );
  return { step, again: (client: Partial<Client> = {}) => setTries({ client }), finish, asProgram };
}
