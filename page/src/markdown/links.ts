import { decodeEntities } from "./entities";

/** Where a link may lead: nothing else is ever handed to the browser or the system. */
const allowed = new Set(["http:", "https:", "mailto:"]);

export interface SafeLink {
  href: string;
  /** The host as the network knows it (punycode), or the mail address. */
  host: string;
}

/** Return where a link leads, or null when it must stay plain text. */
export function safeLink(target: string): SafeLink | null {
  const decoded = decodeEntities(target);
  // Control characters and spaces inside a scheme are an old trick; no honest link has them.
  if (/[\u0000-\u001f\u007f\u00a0\u2028\u2029]/.test(decoded)) return null;
  let url: URL;
  try {
    url = new URL(decoded.trim());
  } catch {
    return null;
  }
  if (!allowed.has(url.protocol)) return null;
  if (url.protocol === "mailto:") return { href: url.href, host: decodeURI(url.pathname) };
  if (!url.host) return null;
  // What stands before an @ is often dressed up as a host.
  url.username = "";
  url.password = "";
  return { href: url.href, host: url.host };
}

/** Tell whether a link's text says itself where it leads: there is nothing to hover over with a finger or a key. */
export function namesHost(text: string, host: string): boolean {
  if (host.split(".").some((label) => label.startsWith("xn--"))) return false;
  if (host.includes("@")) return text.includes(host);
  const bare = (name: string) => name.toLowerCase().replace(/^www\./, "");
  const named = /(?:^|[\s/@])((?:[\p{L}\p{N}-]+\.)+[\p{L}]{2,}(?::\d+)?)/u.exec(decodeEntities(text))?.[1];
  const said = named ?? /(?:^|[\s/@])((?:localhost|[\d.]+|\[[\da-f:]+\])(?::\d+)?)/i.exec(text)?.[1];
  return said !== undefined && (bare(said) === bare(host) || bare(host).startsWith(`${bare(said)}:`));
}
