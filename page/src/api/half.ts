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
export async function signInWith(exchange: (key: string) => Promise<SignedIn>): Promise<void> {
  const { start, half } = await exchange(await newKey());
  localStorage.setItem(KEPT, half || (await signed(start)));
}

const signed = async (start: string) => `${start}.${await sign(`pilothouse session ${start}`)}`;

let whenRenewed = (): void => undefined;

/** Say what to do when the server was started anew and takes this page again: lines to it are opened with the half. */
export function onRenewed(act: () => void): void {
  whenRenewed = act;
}

function knownHalf(): string {
  return localStorage.getItem(KEPT) ?? "";
}

/** Ask the server, as this page; once more if it has been started anew since. */
export async function fetchAsPage(request: Request): Promise<Response> {
  const again = request.clone();
  const answer = await fetch(withHalf(request));
  if (answer.status !== 401 || !(await renew(answer.headers.get(START)))) return answer;
  return fetch(withHalf(again));
}

/** Return whether there is a half now that the server has not seen refused: this tab's, or one that another made. */
async function renew(start: string | null): Promise<boolean> {
  if (!start || knownHalf().startsWith(`${start}.`)) return false;
  try {
    localStorage.setItem(KEPT, await signed(start));
    whenRenewed();
    return true;
  } catch {
    return false;
  }
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
