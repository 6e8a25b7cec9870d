import type { ProviderView } from "../api/types";
import { getState } from "../store/store";

const rows = (): readonly ProviderView[] => getState().providers;

/** Return a provider of which nobody knows more than its name. */
export const unknownProvider = (id: string): ProviderView => ({
  id,
  name: id,
  wire: "plugin",
  baseUrl: "",
  variables: [],
  guarded: [],
  keysAt: "",
  signs: "",
  model: "",
  local: false,
  inside: false,
  note: "",
});

/** Return what the server says about a provider. */
export const providerOf = (id: string): ProviderView => rows().find((row) => row.id === id) ?? unknownProvider(id);

/** Tell whether a provider runs inside the server: it has no address and no key. */
export const isInside = (provider: string): boolean => providerOf(provider).inside;

const options = (fits: (row: ProviderView) => boolean) =>
  rows()
    .filter(fits)
    .map(({ id, name }) => ({ value: id, label: name }));

/** Return the providers as a menu shows them. */
export const menu = () => [
  { group: "Providers", items: options((row) => Boolean(row.baseUrl) && !row.local) },
  { group: "On a machine of your own", items: options((row) => row.local) },
  { group: "Other", items: options((row) => !row.baseUrl) },
];

/** Return the address to begin with. */
export const usualUrl = (provider: string): string => providerOf(provider).baseUrl;

/** Return the first blank that an address still has; empty for none. */
export const blankIn = (url: string): string => /\{(\w+)\}/.exec(url)?.[1] ?? "";

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "";
}

/** Tell whether an address is on this machine, where a server often asks for no key. */
export function isLocal(url: string): boolean {
  return /^(localhost|127\.|\[::1\])/.test(hostOf(url));
}

/** Return the variable in which people usually keep the key for a provider, or for an address. */
export function usualVariable(provider: string, url: string): string {
  const host = hostOf(url);
  const row = providerOf(provider);
  const known = row.baseUrl ? row : rows().find((each) => host && hostOf(each.baseUrl) === host);
  return known?.variables[0] ?? known?.guarded[0] ?? "";
}
