/**
 * The half of the session that is not in its cookie: a signature of this browser's key over what the server chose when
 * it started.
 *
 * A browser sends cookies to every port of a machine; this is made by pages of this very port only. Whoever listens here
 * while the server is away gets signatures that the server will not take when it is back.
 */
import { newKey, sign } from "./key";

const KEPT = "pilothouse.half";
const PROTOCOL = "pilothouse";
const HEADER = "X-Pilothouse-Half";
const START = "X-Pilothouse-Start";

interface SignedIn {
  start: string;
  half?: string;
}

/** Sign in with a key of this browser's own, where it has such keys; `exchange` asks the server. */
export function signInWith(exchange: (key: string) => Promise<SignedIn>): Promise<void> {
  return oneTabAtATime(async () => {
    isSigningIn = true;
    const key = await newKey();
    const { start, half } = await exchange(key?.publicHalf ?? "");
    // Only now: a link that opens nothing must not cost the session that there is.
    await key?.keep();
    keep(half || (await signed(start)));
  }).finally(() => (isSigningIn = false));
}

/** Let no other tab sign in meanwhile: the cookie and the key that are left must be of one session. */
async function oneTabAtATime(act: () => Promise<void>): Promise<void> {
  await (globalThis.isSecureContext ? navigator.locks.request(KEPT, act) : act());
}

let isSigningIn = false;

const signed = async (start: string) => `${start}.${await sign(`pilothouse session ${start}`)}`;

let whenRenewed = (): void => undefined;

/** Say what to do when the server was started anew and takes this page again: lines to it are opened with the half. */
export function onRenewed(act: () => void): void {
  whenRenewed = act;
}

/** Say what to do when another tab of this browser has signed in. */
export function onSignedInElsewhere(act: () => void): void {
  window.addEventListener("storage", ({ key, newValue }) => key === KEPT && newValue && act());
}

function knownHalf(): string {
  return localStorage.getItem(KEPT) ?? "";
}

function keep(half: string): void {
  localStorage.setItem(KEPT, half);
}

/** Ask the server, as this page; once more if it has been started anew since, or another tab has signed in. */
export async function fetchAsPage(request: Request): Promise<Response> {
  const again = request.clone();
  const sent = knownHalf();
  const answer = await fetch(withHalf(request));
  if (answer.status !== 401 || !(await isReplaced(sent, answer.headers.get(START)))) return answer;
  return fetch(withHalf(again));
}

/** Return whether there is another half now than the one that was refused: this tab's, or one that another made. */
async function isReplaced(refused: string, start: string | null): Promise<boolean> {
  if (!isSigningIn) await oneTabAtATime(() => Promise.resolve());
  return knownHalf() !== refused || renew(start);
}

async function renew(start: string | null): Promise<boolean> {
  if (!start || knownHalf().startsWith(`${start}.`)) return false;
  try {
    keep(await signed(start));
    whenRenewed();
    return true;
  } catch {
    return false;
  }
}

/** Return whether the server has been started since this page was refused, by it or by whoever had its port. */
export async function isStartedAnew(): Promise<boolean> {
  if (!knownHalf()) return false;
  const answer = await fetch("/api/health").catch(() => null);
  return renew(answer?.headers.get(START) ?? null);
}

/** Make the half for the server that sent this page, if it has been started since: its document says so in a cookie. */
export async function renewForDocument(): Promise<void> {
  const start = new RegExp(`(?:^|; )pilothouse_${location.port}_seen=([\\w-]+)`).exec(document.cookie)?.[1];
  if (knownHalf()) await renew(start ?? null);
}

function withHalf(request: Request): Request {
  request.headers.set(HEADER, knownHalf());
  return request;
}

/** Return what a WebSocket offers: scripts cannot give it headers. */
export function protocols(): string[] {
  return [PROTOCOL, knownHalf()].filter(Boolean);
}
