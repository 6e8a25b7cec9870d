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
  if (url.protocol === "mailto:") return url.pathname ? { href: url.href, host: url.pathname } : null;
  if (!url.host) return null;
  // What stands before an @ is often dressed up as a host.
  url.username = "";
  url.password = "";
  return { href: url.href, host: url.host };
}

/**
 * Tell whether a link's text says itself where it leads: there is nothing to hover over with a finger or a key.
 *
 * Only one that is an address and nothing else does; characters that nobody sees could show it backwards.
 */
export function namesHost(text: string, host: string): boolean {
  if (host.split(".").some((label) => label.startsWith("xn--"))) return false;
  const bare = (name: string) => name.toLowerCase().replace(/^www\./, "");
  const address = /^(?:https?:\/\/|mailto:)?([\w.@:[\]+-]+)(?:[/?#][^\s\p{Cf}\\]*)?$/iu.exec(decodeEntities(text).trim());
  const said = bare(address?.[1] ?? "");
  return said !== "" && (said === bare(host) || bare(host).startsWith(`${said}:`));
}
