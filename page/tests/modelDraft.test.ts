import { describe, expect, test } from "vitest";
import type { Catalogue, FoundModel, ModelView } from "../src/api/types";
import { check, draftOf, isUsual, newDraft, suggestions, toInput, withProvider, type ModelDraft } from "../src/settings/modelDraft";
import { knownLine } from "../src/settings/useAbout";
import { menu, usualVariable } from "../src/settings/providers";
import { setState } from "../src/store/store";
import { aProvider } from "./records";

setState({
  providers: [
    aProvider({ id: "anthropic", baseUrl: "https://api.anthropic.com" }),
    aProvider({ id: "gemini", baseUrl: "https://generativelanguage.googleapis.com" }),
    aProvider({ id: "openrouter", baseUrl: "https://openrouter.ai/api/v1", variables: ["OPENROUTER_API_KEY"] }),
    aProvider({ id: "groq", baseUrl: "https://api.groq.com/openai/v1" }),
    aProvider({ id: "mistral", baseUrl: "https://api.mistral.ai/v1", variables: ["MISTRAL_API_KEY"] }),
    aProvider({ id: "azure", baseUrl: "https://{resource}.openai.azure.com/openai/v1" }),
    aProvider({ id: "bedrock-claude", baseUrl: "https://bedrock-runtime.{region}.amazonaws.com", signs: "aws" }),
    aProvider({ id: "vertex", baseUrl: "https://aiplatform.googleapis.com/v1/projects/{project}", signs: "google" }),
    aProvider({ id: "ollama", baseUrl: "http://127.0.0.1:11434", local: true }),
    aProvider({ id: "openai-compatible" }),
    aProvider({ id: "embedded", inside: true }),
    aProvider({ id: "scripted", inside: true }),
  ],
});

const good: ModelDraft = { ...newDraft(), name: "Mine", model: "claude-sonnet-4-5", apiKey: "sk-1" };

const view = (key: Partial<ModelView["key"]>): ModelView => ({
  id: "mine",
  name: "Mine",
  provider: "openai-compatible",
  model: "gpt-4.1",
  baseUrl: "https://api.openai.com/v1",
  host: "api.openai.com",
  apiKeySource: "",
  key: { kind: "none", name: "", present: true, problem: "", moved: false, ...key },
  contextWindow: 128_000,
  supportsThinking: true,
  supportsImages: false,
  maxTokens: null,
  isDefault: false,
  toolCalls: "auto",
  nativeTools: { webSearch: null, codeExecution: null, urlContext: null, imageGeneration: null },
  note: "",
  contextLabel: "128K context",
  priceLabel: "",
  learned: [],
  service: "",
  said: { contextWindow: 128_000, supportsThinking: null, supportsImages: false, prices: null },
  factsFrom: "a package of 2026-11-16",
});

describe("checking a model's form", () => {
  test("a whole form has nothing to say", () => expect(check(good)).toEqual({}));

  test("a number of tokens that no model has is a slip", () => {
    const most = "No model gives or takes more than 1,000,000,000 tokens.";
    expect(check({ ...good, maxTokens: 99_999_999_999_999 })).toEqual({ maxTokens: most });
    expect(check({ ...good, contextWindow: 2e9 })).toEqual({ contextWindow: most });
    expect(check({ ...good, maxTokens: 0 })).toEqual({ maxTokens: "The limit is a whole number of tokens, 1 or more." });
  });

  test("an empty form says one sentence for each field that is needed", () => {
    expect(Object.keys(check(newDraft())).sort()).toEqual(["apiKey", "model", "name"]);
    for (const sentence of Object.values(check(newDraft()))) expect(sentence).toMatch(/^[A-Z].*\.$/);
  });

  test("a model that nobody gave a name has its provider's name for it", () => {
    expect(check({ ...good, name: " " })).toEqual({});
    expect(toInput({ ...good, name: " " }).name).toBe("claude-sonnet-4-5");
  });

  test.each(["api.openai.com", "ftp://x", "http://", "https:// x"])("%s is no address", (baseUrl) => {
    expect(check({ ...good, baseUrl })).toHaveProperty("baseUrl");
  });

  test("an empty address means the provider's own", () => expect(check({ ...good, baseUrl: " " })).toEqual({}));

  test("a pasted key has no spaces inside, but some around it do no harm", () => {
    expect(check({ ...good, apiKey: "sk 1" })).toHaveProperty("apiKey");
    expect(check({ ...good, apiKey: " sk-1\n" })).toEqual({});
    expect(toInput({ ...good, apiKey: " sk-1\n" }).apiKey).toBe("sk-1");
  });

  test.each(["", "MY KEY", "1KEY", "env:KEY"])("“%s” is no variable", (variable) => {
    expect(check({ ...good, key: "env", variable })).toHaveProperty("variable");
  });

  test.each([0, -1, 1.5])("%d is no number of tokens", (number) => {
    expect(check({ ...good, contextWindow: number })).toHaveProperty("contextWindow");
    expect(check({ ...good, maxTokens: number })).toHaveProperty("maxTokens");
  });

  test("an answer fits into the context window", () => {
    expect(check({ ...good, contextWindow: 1000, maxTokens: 2000 })).toHaveProperty("maxTokens");
  });

  test("a model inside the server needs neither address nor key", () => {
    const inside = { ...newDraft(), name: "Script", provider: "scripted", model: "a.yaml", baseUrl: "nonsense" } as ModelDraft;
    expect(check(inside)).toEqual({});
    expect(toInput(inside)).toMatchObject({ baseUrl: "", apiKeySource: "" });
    expect(toInput(inside)).not.toHaveProperty("apiKey");
  });
});

describe("what the server is sent", () => {
  test("how tools are called, and the provider's own, are as they were unless they are changed", () => {
    const model = { ...view({}), toolCalls: "text", nativeTools: { webSearch: true, codeExecution: false, urlContext: null, imageGeneration: null } } as ModelView;
    expect(toInput(draftOf(model))).toMatchObject({ toolCalls: "text", nativeTools: model.nativeTools });
    expect(isUsual(draftOf(model))).toBe(false);
    expect(isUsual(newDraft())).toBe(true);
  });

  test("a pasted key goes as a key, a variable as its name, and neither with the other", () => {
    expect(toInput(good)).toMatchObject({ apiKey: "sk-1" });
    expect(toInput(good)).not.toHaveProperty("apiKeySource");
    const env = toInput({ ...good, key: "env", variable: " OPENAI_API_KEY " });
    expect(env.apiKeySource).toBe("env:OPENAI_API_KEY");
    expect(env).not.toHaveProperty("apiKey");
  });

  test("a key that is kept is not spoken of", () => {
    const kept = toInput(draftOf(view({ kind: "secret", name: "model-mine" })));
    expect(kept).not.toHaveProperty("apiKey");
    expect(kept).not.toHaveProperty("apiKeySource");
    expect(kept.id).toBe("mine");
  });

  test("what was left empty is not said", () => {
    expect(toInput(good)).toMatchObject({ contextWindow: null, maxTokens: null, supportsImages: null });
  });

  test("a model that is edited without a change is sent as it is", () => {
    const input = toInput(draftOf(view({ kind: "env", name: "OPENAI_API_KEY" })));
    expect(input).toMatchObject({ apiKeySource: "env:OPENAI_API_KEY", contextWindow: 128_000, supportsImages: false });
  });

  test("what nobody said of a model stays unsaid, and a window that is taken back is filled in again", () => {
    const draft = draftOf({ ...view({}), said: { contextWindow: null, supportsThinking: null, supportsImages: null, prices: null } });
    expect([draft.contextWindow, draft.supportsThinking, draft.supportsImages]).toEqual(["", null, "auto"]);
    const sent = toInput({ ...draftOf(view({})), contextWindow: "" });
    expect(sent).toMatchObject({ contextWindow: "known", supportsThinking: null, supportsImages: false, prices: "known" });
  });

  test("prices are those of the person, with what the form has no field for, or as known again", () => {
    const own = { input: 3, output: 15, cacheRead: 0.3, above: 200_000, beyond: { input: 6, output: 22.5 } };
    const draft = draftOf({ ...view({}), said: { ...view({}).said, prices: own } });
    expect(draft.prices).toEqual({ input: 3, output: 15, cacheRead: 0.3, cacheWrite: "" });
    expect(isUsual(draft)).toBe(false);
    expect(toInput({ ...draft, prices: { ...draft.prices, input: 2 } }).prices).toEqual({ ...own, input: 2, cacheWrite: null });
    const half = { ...draft, prices: { ...draft.prices, output: "" as const } };
    expect(check(half)).toEqual({ prices: "Say what input and output cost, or leave all of them empty." });
    const none = { input: "", output: "", cacheRead: "", cacheWrite: "" } as const;
    expect([check({ ...draft, prices: none }), toInput({ ...draft, prices: none }).prices]).toEqual([{}, "known"]);
  });

  test("what is known is told in one line with who says so", () => {
    expect(knownLine(view({}))).toBe("128K context, thinks, from a package of 2026-11-16");
    expect(knownLine({ ...view({}), factsFrom: "" })).toBe("");
    const priced = { ...view({}), priceLabel: "$3 in, $15 out per 1M tokens" };
    expect(knownLine(priced)).toContain("thinks, $3 in, $15 out per 1M tokens, from");
    expect(knownLine(null)).toBe("");
  });
});

describe("another provider", () => {
  test("brings its address when nobody wrote one", () => {
    expect(withProvider(good, "gemini").baseUrl).toBe("https://generativelanguage.googleapis.com");
  });

  test("leaves an address that somebody wrote", () => {
    expect(withProvider({ ...good, baseUrl: "https://gateway.example" }, "gemini").baseUrl).toBe("https://gateway.example");
  });

  test("on this machine asks for no key, and elsewhere asks again", () => {
    const local = withProvider(newDraft(), "ollama");
    expect(local.key).toBe("none");
    expect(withProvider(local, "gemini").key).toBe("paste");
    expect(withProvider(good, "ollama").key).toBe("paste");
  });
});

describe("a provider by its name", () => {
  test("fills in its address, and says which part is the person's own", () => {
    expect(withProvider(good, "groq").baseUrl).toBe("https://api.groq.com/openai/v1");
    const azure = withProvider(good, "azure");
    expect(check(azure).baseUrl).toBe("Put your own resource in the place of {resource}.");
    expect(check({ ...azure, baseUrl: "" })).toHaveProperty("baseUrl");
    expect(check({ ...azure, baseUrl: "https://mine.openai.azure.com/openai/v1" })).toEqual({});
  });

  test("that the machine's credentials can sign for begins with these", () => {
    const bedrock = withProvider({ ...good, apiKey: "" }, "bedrock-claude");
    expect(bedrock.key).toBe("sign");
    expect(toInput(bedrock)).toMatchObject({ provider: "bedrock-claude", apiKeySource: "aws" });
    expect(withProvider(bedrock, "groq").key).toBe("paste");
  });

  test("is what an edited model keeps, and a profile that was named stays", () => {
    const model = { ...view({ kind: "aws" }), service: "bedrock-claude" };
    expect(toInput(draftOf(model))).toMatchObject({ provider: "bedrock-claude", apiKeySource: "aws" });
    const named = draftOf({ ...model, key: { ...model.key, name: "work" } });
    expect(named.key).toBe("keep");
    expect(toInput(named)).not.toHaveProperty("apiKeySource");
  });

  test("takes a service account's key whole", () => {
    const vertex = { ...withProvider(good, "vertex"), baseUrl: "https://x.googleapis.com/v1", apiKey: '{ "type": "service_account" }' };
    expect(check({ ...vertex, key: "paste" })).toEqual({});
  });

  test("stands in the menu once", () => {
    const ids = menu().flatMap((group) => group.items.map((item) => item.value));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toContain("openrouter");
  });
});

test("the variable that people use belongs to the address", () => {
  expect(usualVariable("openai-compatible", "https://openrouter.ai/api/v1/")).toBe("OPENROUTER_API_KEY");
  expect(usualVariable("mistral", "https://gateway.example")).toBe("MISTRAL_API_KEY");
  expect(usualVariable("openai-compatible", "https://elsewhere.example")).toBe("");
});

test("names are suggested from what this address offers, whoever told it, each once", () => {
  const draft = { ...good, provider: "ollama", baseUrl: "http://127.0.0.1:11434/" } as ModelDraft;
  const entry = { provider: "ollama", baseUrl: "http://127.0.0.1:11434" };
  const catalogue: Catalogue = {
    refreshedAt: 1,
    problems: [],
    entries: [
      { ...entry, model: "qwen3" },
      { ...entry, baseUrl: "https://api.openai.com/v1", model: "gpt-5" },
    ],
  };
  const found = [{ title: "", why: "", choices: ["llama3", "qwen3"], draft: { ...entry, name: "" } }] as unknown as FoundModel[];
  expect(suggestions(draft, catalogue, found)).toEqual(["llama3", "qwen3"]);
  expect(suggestions(draft, null, [])).toEqual([]);
});
