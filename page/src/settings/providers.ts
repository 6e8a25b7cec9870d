import type { Provider } from "../api/types";

/** A place that speaks a provider's format, and the variable in which people keep its key. */
interface Place {
  url: string;
  variable?: string;
}

interface Kind {
  value: Provider;
  label: string;
  /** The first place is where requests go when the form says nothing else. */
  places: readonly Place[];
  example: string;
}

const openai: Place = { url: "https://api.openai.com/v1", variable: "OPENAI_API_KEY" };

/** The kinds of provider, in the order in which a form offers them. */
export const kinds: readonly Kind[] = [
  {
    value: "anthropic-compatible",
    label: "Anthropic compatible",
    places: [
      { url: "https://api.anthropic.com", variable: "ANTHROPIC_API_KEY" },
      { url: "https://api.deepseek.com/anthropic", variable: "DeepseekKey" },
    ],
    example: "claude-sonnet-4-5",
  },
  {
    value: "openai-compatible",
    label: "OpenAI compatible (chat completions)",
    places: [
      openai,
      { url: "https://api.deepseek.com", variable: "DeepseekKey" },
      { url: "https://openrouter.ai/api/v1", variable: "OPENROUTER_API_KEY" },
      { url: "https://api.mistral.ai/v1", variable: "MISTRAL_API_KEY" },
      { url: "https://api.groq.com/openai/v1", variable: "GROQ_API_KEY" },
      { url: "http://127.0.0.1:1234/v1" },
      { url: "http://127.0.0.1:8080/v1" },
    ],
    example: "gpt-4.1",
  },
  { value: "openai-responses", label: "OpenAI (responses)", places: [openai], example: "gpt-5" },
  {
    value: "gemini",
    label: "Google Gemini",
    places: [{ url: "https://generativelanguage.googleapis.com", variable: "GEMINI_API_KEY" }],
    example: "gemini-2.5-flash",
  },
  { value: "ollama", label: "Ollama", places: [{ url: "http://127.0.0.1:11434" }], example: "qwen3:8b" },
  { value: "embedded", label: "Built in (no key, to try things out)", places: [], example: "" },
  { value: "scripted", label: "Scripted (answers from a file)", places: [], example: "/path/to/script.yaml" },
  { value: "plugin", label: "Plugin (a package makes it)", places: [], example: "name/model" },
];

const byValue = new Map(kinds.map((kind) => [kind.value, kind]));

/** Return what is known about a kind of provider. */
export function kindOf(provider: Provider): Kind {
  const kind = byValue.get(provider);
  if (!kind) throw new Error(`unknown provider: ${provider}`);
  return kind;
}

/** Tell whether a provider runs inside the server: it has no address and no key. */
export const isInside = (provider: Provider): boolean => provider === "embedded" || provider === "scripted";

/** Return the address to begin with. */
export const usualUrl = (provider: Provider): string => kindOf(provider).places[0]?.url ?? "";

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "";
}

/** Tell whether an address is on this machine, where a server often asks for no key. */
export function isLocal(url: string): boolean {
  return /^(localhost|127\.|\[::1\])/.test(hostOf(url));
}

/** Return the variable in which people usually keep the key for an address. */
export function usualVariable(provider: Provider, url: string): string {
  const host = hostOf(url || usualUrl(provider));
  return kindOf(provider).places.find((place) => hostOf(place.url) === host)?.variable ?? "";
}
