/**
 * The half of the session's token that is not in its cookie.
 *
 * A browser sends cookies to every port of a machine; this is read by pages of this very port only.
 */
const KEY = "pilothouse.half";
const PROTOCOL = "pilothouse";
export const HEADER = "X-Pilothouse-Half";

export function keepHalf(half: string): void {
  localStorage.setItem(KEY, half);
}

export function knownHalf(): string {
  return localStorage.getItem(KEY) ?? "";
}

/** Return a request that says which page it comes from. */
export function withHalf(request: Request): Request {
  request.headers.set(HEADER, knownHalf());
  return request;
}

/** Return what a WebSocket offers: scripts cannot give it headers. */
export function protocols(): string[] {
  return [PROTOCOL, knownHalf()].filter(Boolean);
}
