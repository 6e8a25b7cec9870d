import { at, client, take, whole } from "../api/client";
import type { components } from "../api/schema";

type Schemas = components["schemas"];
export type Memory = Schemas["Memory"];
export type MemoryCollection = Schemas["MemoryCollection"];
export type MemoryCollections = Schemas["MemoryCollections"];
export type MemoryKept = Schemas["MemoryKept"];
export type MemoryMatch = Schemas["MemoryMatch"];
export type MemoryPage = Schemas["MemoryPage"];
export type MemoryPatch = Schemas["MemoryPatch"];
export type MemoryUse = Schemas["MemoryUse"];
export type Scope = Schemas["Scope"];

/** Which memories are meant: all, those of one place, or those that are forgotten. */
export interface Wanted {
  scope: Scope | null;
  forgotten: boolean;
}

const filter = ({ scope, forgotten }: Wanted) => ({
  ...(scope && { kind: scope.kind, scope: scope.id }),
  ...(forgotten && { forgotten }),
});

/** What the page asks of the server about memories. */
export const memories = {
  list: (wanted: Wanted, signal: AbortSignal) =>
    whole<MemoryPage>((query) => take(client.GET("/api/memories", { params: { query: { ...filter(wanted), ...query } }, signal }))),
  search: (q: string, wanted: Wanted, signal: AbortSignal) =>
    take(client.GET("/api/memories/search", { params: { query: { q, ...filter(wanted) } }, signal })),
  collections: () => take(client.GET("/api/memories/collections")),
  get: (key: string) => take(client.GET("/api/memories/{id}", at(key))),
  add: (body: { text: string; title: string; tags: string[]; scope: Scope }) => take(client.POST("/api/memories", { body })),
  change: (key: string, body: MemoryPatch) => take(client.PATCH("/api/memories/{id}", { ...at(key), body })),
  merge: (body: { keys: string[]; title: string; text: string; scope: Scope }) => take(client.POST("/api/memories/merge", { body })),
  forget: (key: string) => take(client.DELETE("/api/memories/{id}", at(key))),
  restore: (key: string) => take(client.POST("/api/memories/{id}/restore", at(key))),
};
