import { at, client, take } from "./client";
import type { PromptInput } from "./types";

/** What the page asks of the server about topics. */
export const topicsApi = {
  get: (id: string) => take(client.GET("/api/topics/{id}", at(id))),
  list: () => take(client.GET("/api/topics")),
  create: (name: string) => take(client.POST("/api/topics", { body: { name } })),
  change: (id: string, body: { name?: string; description?: string }) =>
    take(client.PATCH("/api/topics/{id}", { ...at(id), body })),
  remove: (id: string) => take(client.DELETE("/api/topics/{id}", at(id))),
  restore: (id: string) => take(client.POST("/api/topics/{id}/restore", at(id))),
  conversations: (topic: string, cursor?: string) =>
    take(client.GET("/api/conversations", { params: { query: cursor ? { topic, cursor } : { topic } } })),
};

/** What the page asks of the server about the prompts of a kind: each is a file. */
export const promptsApi = {
  list: () => take(client.GET("/api/prompts")),
  get: (name: string) => take(client.GET("/api/prompts/{id}", at(name))),
  put: (name: string, body: PromptInput) => take(client.PUT("/api/prompts/{id}", { ...at(name), body })),
  remove: (name: string) => take(client.DELETE("/api/prompts/{id}", at(name))),
  fill: (name: string, values: Record<string, string>, conversationId: string | null) =>
    take(client.POST("/api/prompts/{id}/filled", { ...at(name), body: { values, conversationId } })),
};

export const miniPromptsApi = {
  list: () => take(client.GET("/api/mini-prompts")),
  get: (name: string) => take(client.GET("/api/mini-prompts/{id}", at(name))),
  put: (name: string, body: PromptInput) => take(client.PUT("/api/mini-prompts/{id}", { ...at(name), body })),
  remove: (name: string) => take(client.DELETE("/api/mini-prompts/{id}", at(name))),
};
