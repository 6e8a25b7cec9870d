import type { Catalogue, FoundModel, ModelInput, ModelView, NativeTools, Prices } from "../api/types";
import { withoutEnd } from "../shell/paths";
import { isUnset, unset } from "../shell/selection";
import { tokensError } from "../shell/tokens";
import { blankIn, isInside, isLocal, providerOf, usualUrl } from "./providers";

/** Where a key comes from: what is there already, pasted, from the environment, what signs on the machine, or nowhere. */
export type KeyChoice = "keep" | "paste" | "env" | "sign" | "none";

/** As long as a name may be. */
export const NAME_LENGTH = 80;

/** What a million tokens cost in dollars, as the form holds it. */
export type PriceDraft = Record<"input" | "output" | "cacheRead" | "cacheWrite", number | "">;

/** Nothing is said of prices. */
export const noPrices: PriceDraft = { input: "", output: "", cacheRead: "", cacheWrite: "" };

/** A model as the form holds it; numbers are "" while nothing is said. */
export interface ModelDraft {
  id: string | null;
  name: string;
  /** By its name in the table of providers. */
  provider: string;
  baseUrl: string;
  model: string;
  key: KeyChoice;
  apiKey: string;
  variable: string;
  contextWindow: number | "";
  maxTokens: number | "";
  /** Null is what nobody said: it is as is known of the model. */
  supportsThinking: boolean | null;
  supportsImages: "auto" | "yes" | "no";
  toolCalls: ModelView["toolCalls"];
  nativeTools: NativeTools;
  prices: PriceDraft;
  /** The prices as they are saved, with what the form has no field for. */
  savedPrices: Prices | null;
}

export type DraftErrors = Partial<Record<keyof ModelDraft, string>>;

/** Return an empty form. */
export function newDraft(): ModelDraft {
  return {
    id: null,
    name: "",
    provider: "anthropic",
    baseUrl: usualUrl("anthropic"),
    model: "",
    key: "paste",
    apiKey: "",
    variable: "",
    contextWindow: "",
    maxTokens: "",
    supportsThinking: null,
    supportsImages: "auto",
    toolCalls: "auto",
    nativeTools: unset,
    prices: noPrices,
    savedPrices: null,
  };
}

const isEmpty = (prices: PriceDraft) => Object.values(prices).every((price) => price === "");

/** Tell whether nothing is said of what few people change. */
export const isUsual = (draft: ModelDraft) => draft.toolCalls === "auto" && isUnset(draft.nativeTools) && isEmpty(draft.prices);

const choiceOf = {
  none: "none",
  env: "env",
  secret: "keep",
  literal: "keep",
  aws: "sign",
  google: "sign",
  copilot: "sign",
} as const;

const imagesOf = (said: boolean | null) => (said === null ? "auto" : said ? "yes" : "no");

/** Return a form filled with a model as it is. */
export function draftOf(model: ModelView): ModelDraft {
  return {
    id: model.id,
    name: model.name,
    provider: model.service || model.provider,
    baseUrl: model.baseUrl || usualUrl(model.service || model.provider),
    model: model.model,
    // A profile or a file that somebody named stays.
    key: model.key.kind !== "env" && model.key.name ? "keep" : choiceOf[model.key.kind],
    apiKey: "",
    variable: model.key.kind === "env" ? model.key.name : "",
    contextWindow: model.said.contextWindow ?? "",
    maxTokens: model.maxTokens ?? "",
    supportsThinking: model.said.supportsThinking,
    supportsImages: imagesOf(model.said.supportsImages),
    toolCalls: model.toolCalls,
    nativeTools: model.nativeTools,
    prices: pricesOf(model),
    savedPrices: model.said.prices,
  };
}

function pricesOf({ said: { prices } }: ModelView): PriceDraft {
  if (!prices) return noPrices;
  const { input, output, cacheRead, cacheWrite } = prices;
  return { input, output, cacheRead: cacheRead ?? "", cacheWrite: cacheWrite ?? "" };
}

/** Change the provider; an address and a key choice that nobody touched follow it. */
export function withProvider(draft: ModelDraft, provider: string): ModelDraft {
  const untouched = !draft.baseUrl.trim() || draft.baseUrl === usualUrl(draft.provider);
  const baseUrl = isInside(provider) ? "" : untouched ? usualUrl(provider) : draft.baseUrl;
  const wasIdle = draft.key === "none" || draft.key === "sign" || (draft.key === "paste" && !draft.apiKey);
  const usual = providerOf(provider).signs ? "sign" : isInside(provider) || isLocal(baseUrl) ? "none" : "paste";
  // A variable belongs to the provider that it was named for.
  return { ...draft, provider, baseUrl, key: wasIdle ? usual : draft.key, variable: draft.key === "env" ? draft.variable : "" };
}

/** Return what the model is called: by its provider's name for it where nobody gave it another. */
const nameOf = (draft: ModelDraft) => draft.name.trim() || draft.model.trim().slice(0, NAME_LENGTH);

function urlError(draft: ModelDraft): string | undefined {
  const url = draft.baseUrl.trim();
  if (isInside(draft.provider)) return undefined;
  const blank = blankIn(url || usualUrl(draft.provider));
  if (blank) return `Put your own ${blank} in the place of {${blank}}.`;
  if (!url) return undefined;
  if (/^https?:\/\/[^\s/]+/.test(url) && URL.canParse(url)) return undefined;
  return "Write a web address that begins with http:// or https://.";
}

function modelError(draft: ModelDraft): string | undefined {
  if (draft.provider === "embedded" || draft.model.trim()) return undefined;
  return draft.provider === "scripted" ? "Name the script file." : "Say which of the provider's models to use.";
}

function keyError(draft: ModelDraft): string | undefined {
  if (isInside(draft.provider) || draft.key !== "paste") return undefined;
  if (!draft.apiKey.trim()) return "Paste the key, or choose another source.";
  // A service account's key is a whole document.
  if (providerOf(draft.provider).signs === "google" && draft.apiKey.trim().startsWith("{")) return undefined;
  return /\s/.test(draft.apiKey.trim()) ? "A key has no spaces or line breaks in it." : undefined;
}

function variableError(draft: ModelDraft): string | undefined {
  if (isInside(draft.provider) || draft.key !== "env") return undefined;
  return /^[A-Za-z_]\w*$/.test(draft.variable.trim())
    ? undefined
    : "Name the variable with letters, digits and underscores, for example ANTHROPIC_API_KEY.";
}

function maxTokensError(draft: ModelDraft): string | undefined {
  const { maxTokens, contextWindow } = draft;
  if (maxTokens !== "" && contextWindow !== "" && maxTokens > contextWindow) {
    return "An answer cannot be longer than the context window.";
  }
  return tokensError(maxTokens, "The limit");
}

function pricesError({ prices }: ModelDraft): string | undefined {
  if (isEmpty(prices) || (prices.input !== "" && prices.output !== "")) return undefined;
  return "Say what input and output cost, or leave all of them empty.";
}

const orNothing = (price: number | "") => (price === "" ? null : price);

/** Return what the server is told of prices: those of the person, or that what is known counts again. */
function pricesIn({ prices, savedPrices }: ModelDraft): Prices | "known" {
  const { input, output, cacheRead, cacheWrite } = prices;
  if (input === "" || output === "") return "known";
  return { ...savedPrices, input, output, cacheRead: orNothing(cacheRead), cacheWrite: orNothing(cacheWrite) };
}

/** Return one sentence for each field that cannot stay as it is. */
export function check(draft: ModelDraft): DraftErrors {
  const found: Record<string, string | undefined> = {
    name: nameOf(draft) ? undefined : "Give the model a name.",
    baseUrl: urlError(draft),
    model: modelError(draft),
    apiKey: keyError(draft),
    variable: variableError(draft),
    contextWindow: tokensError(draft.contextWindow, "The context window"),
    maxTokens: maxTokensError(draft),
    prices: pricesError(draft),
  };
  return Object.fromEntries(Object.entries(found).filter(([, sentence]) => sentence)) as DraftErrors;
}

function keyFields(draft: ModelDraft): Pick<ModelInput, "apiKey" | "apiKeySource"> {
  if (isInside(draft.provider)) return { apiKeySource: "" };
  switch (draft.key) {
    case "keep":
      return {};
    case "paste":
      return { apiKey: draft.apiKey.trim() };
    case "env":
      return { apiKeySource: `env:${draft.variable.trim()}` };
    case "sign":
      return { apiKeySource: providerOf(draft.provider).signs };
    case "none":
      return { apiKeySource: "" };
  }
}

/** Return what the server is sent for a form without errors. */
export function toInput(draft: ModelDraft): ModelInput {
  return {
    id: draft.id,
    name: nameOf(draft),
    provider: draft.provider,
    model: draft.model.trim(),
    baseUrl: isInside(draft.provider) ? "" : draft.baseUrl.trim(),
    contextWindow: draft.contextWindow === "" ? (draft.id ? "known" : null) : draft.contextWindow,
    maxTokens: draft.maxTokens === "" ? null : draft.maxTokens,
    supportsThinking: draft.supportsThinking,
    supportsImages: draft.supportsImages === "auto" ? null : draft.supportsImages === "yes",
    toolCalls: draft.toolCalls,
    nativeTools: draft.nativeTools,
    prices: pricesIn(draft),
    ...keyFields(draft),
  };
}

const bare = (url: string) => withoutEnd(url.trim()).toLowerCase();

/** Return the model names to suggest: what this address offered, told by it when it was last asked or just now. */
export function suggestions(draft: ModelDraft, catalogue: Catalogue | null, found: readonly FoundModel[]): string[] {
  const url = bare(draft.baseUrl || usualUrl(draft.provider));
  const told = (catalogue?.entries ?? []).filter((entry) => bare(entry.baseUrl) === url).map((entry) => entry.model);
  const near = found.filter((entry) => bare(entry.draft.baseUrl ?? "") === url);
  const names = near.flatMap((entry) => [...entry.choices, entry.draft.model ?? ""]);
  return [...new Set([...told, ...names])].filter(Boolean).sort((a, b) => a.localeCompare(b));
}
