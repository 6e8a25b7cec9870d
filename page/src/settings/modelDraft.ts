import type { Catalogue, FoundModel, ModelInput, ModelView, NativeTools, Provider } from "../api/types";
import { withoutEnd } from "../shell/paths";
import { isUnset, unset } from "../shell/selection";
import { isInside, isLocal, usualUrl } from "./providers";

/** Where a key comes from: what is there already, pasted, from the environment, or nowhere. */
export type KeyChoice = "keep" | "paste" | "env" | "none";

/** A model as the form holds it; numbers are "" while nothing is said. */
export interface ModelDraft {
  id: string | null;
  name: string;
  provider: Provider;
  baseUrl: string;
  model: string;
  key: KeyChoice;
  apiKey: string;
  variable: string;
  contextWindow: number | "";
  maxTokens: number | "";
  supportsThinking: boolean;
  supportsImages: "auto" | "yes" | "no";
  toolCalls: ModelView["toolCalls"];
  nativeTools: NativeTools;
}

export type DraftErrors = Partial<Record<keyof ModelDraft, string>>;

/** Return an empty form. */
export function newDraft(): ModelDraft {
  return {
    id: null,
    name: "",
    provider: "anthropic-compatible",
    baseUrl: usualUrl("anthropic-compatible"),
    model: "",
    key: "paste",
    apiKey: "",
    variable: "",
    contextWindow: "",
    maxTokens: "",
    supportsThinking: false,
    supportsImages: "auto",
    toolCalls: "auto",
    nativeTools: unset,
  };
}

/** Tell whether nothing is said of what few people change. */
export const isUsual = (draft: ModelDraft) => draft.toolCalls === "auto" && isUnset(draft.nativeTools);

const choiceOf = { none: "none", env: "env", secret: "keep", literal: "keep" } as const;

/** Return a form filled with a model as it is. */
export function draftOf(model: ModelView): ModelDraft {
  return {
    id: model.id,
    name: model.name,
    provider: model.provider,
    baseUrl: model.baseUrl || usualUrl(model.provider),
    model: model.model,
    key: choiceOf[model.key.kind],
    apiKey: "",
    variable: model.key.kind === "env" ? model.key.name : "",
    contextWindow: model.contextWindow,
    maxTokens: model.maxTokens ?? "",
    supportsThinking: model.supportsThinking,
    supportsImages: model.supportsImages ? "yes" : "no",
    toolCalls: model.toolCalls,
    nativeTools: model.nativeTools,
  };
}

/** Change the provider; an address and a key choice that nobody touched follow it. */
export function withProvider(draft: ModelDraft, provider: Provider): ModelDraft {
  const untouched = !draft.baseUrl.trim() || draft.baseUrl === usualUrl(draft.provider);
  const baseUrl = isInside(provider) ? "" : untouched ? usualUrl(provider) : draft.baseUrl;
  const wasIdle = draft.key === "none" || (draft.key === "paste" && !draft.apiKey);
  const key = wasIdle ? (isInside(provider) || isLocal(baseUrl) ? "none" : "paste") : draft.key;
  return { ...draft, provider, baseUrl, key };
}

function urlError(draft: ModelDraft): string | undefined {
  const url = draft.baseUrl.trim();
  if (isInside(draft.provider) || !url) return undefined;
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
  return /\s/.test(draft.apiKey.trim()) ? "A key has no spaces or line breaks in it." : undefined;
}

function variableError(draft: ModelDraft): string | undefined {
  if (isInside(draft.provider) || draft.key !== "env") return undefined;
  return /^[A-Za-z_]\w*$/.test(draft.variable.trim())
    ? undefined
    : "Name the variable with letters, digits and underscores, for example ANTHROPIC_API_KEY.";
}

function countError(value: number | "", what: string): string | undefined {
  if (value === "" || (Number.isInteger(value) && value >= 1)) return undefined;
  return `${what} is a whole number of tokens, 1 or more.`;
}

function maxTokensError(draft: ModelDraft): string | undefined {
  const { maxTokens, contextWindow } = draft;
  if (maxTokens !== "" && contextWindow !== "" && maxTokens > contextWindow) {
    return "An answer cannot be longer than the context window.";
  }
  return countError(maxTokens, "The limit");
}

/** Return one sentence for each field that cannot stay as it is. */
export function check(draft: ModelDraft): DraftErrors {
  const found: Record<string, string | undefined> = {
    name: draft.name.trim() ? undefined : "Give the model a name.",
    baseUrl: urlError(draft),
    model: modelError(draft),
    apiKey: keyError(draft),
    variable: variableError(draft),
    contextWindow: countError(draft.contextWindow, "The context window"),
    maxTokens: maxTokensError(draft),
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
    case "none":
      return { apiKeySource: "" };
  }
}

/** Return what the server is sent for a form without errors. */
export function toInput(draft: ModelDraft): ModelInput {
  return {
    id: draft.id,
    name: draft.name.trim(),
    provider: draft.provider,
    model: draft.model.trim(),
    baseUrl: isInside(draft.provider) ? "" : draft.baseUrl.trim(),
    contextWindow: draft.contextWindow === "" ? null : draft.contextWindow,
    maxTokens: draft.maxTokens === "" ? null : draft.maxTokens,
    supportsThinking: draft.supportsThinking,
    supportsImages: draft.supportsImages === "auto" ? null : draft.supportsImages === "yes",
    toolCalls: draft.toolCalls,
    nativeTools: draft.nativeTools,
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
