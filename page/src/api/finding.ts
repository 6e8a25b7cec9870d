import { ApiError, at, client, problemOf, take } from "./client";
import { fetchAsPage } from "./csrf";
import type { operations } from "./schema";
import type { FilledProposal, ImportRequest, Recognised } from "./types";

/** Another program that a server can be copied for. */
export type Program = NonNullable<NonNullable<operations["export_server"]["parameters"]["query"]>["program"]>;

/** Give the server an MCP bundle to read; the rest of the page sends JSON. */
async function recogniseBundle(file: Blob, signal: AbortSignal): Promise<Recognised> {
  const request = new Request("/api/proposals/bundle", {
    method: "POST",
    body: file,
    // A body that is no JSON has this one name, whatever is in it.
    headers: { "content-type": "application/x-ndjson" },
    credentials: "same-origin",
    signal,
  });
  const answer = await fetchAsPage(request);
  const said: unknown = await answer.json().catch(() => null);
  if (!answer.ok) throw new ApiError(answer.status, problemOf(said, answer.status));
  return said as Recognised;
}

/** Everything the page asks of the server to find MCP servers, and about their packages. */
export const finding = {
  registries: () => take(client.GET("/api/registries")),
  addRegistry: (url: string, name: string) => take(client.POST("/api/registries", { body: { url, name } })),
  removeRegistry: (id: string) => take(client.DELETE("/api/registries/{id}", at(id))),
  setRegistryKey: (id: string, value: string | null) =>
    take(client.PUT("/api/registries/{id}/key", { ...at(id), body: { value } })),
  search: (q: string, registry: string, signal: AbortSignal) =>
    take(client.GET("/api/registries/search", { params: { query: { q, registry } }, signal })),
  proposals: (registry: string, name: string, signal: AbortSignal) =>
    take(client.GET("/api/registries/{id}/proposals", { params: { path: { id: registry }, query: { name } }, signal })),

  recognise: (text: string, signal: AbortSignal) => take(client.POST("/api/proposals", { body: { text }, signal })),
  recogniseBundle,
  fill: (filled: FilledProposal) => take(client.POST("/api/proposals/filled", { body: filled })),

  otherFiles: () => take(client.GET("/api/servers/import/files")),
  importQuestions: (request: ImportRequest) => take(client.POST("/api/servers/import/questions", { body: request })),
  importServers: (request: ImportRequest) => take(client.POST("/api/servers/import", { body: request })),
  exported: (id: string, program: Program) =>
    take(client.GET("/api/servers/{id}/export", { params: { path: { id }, query: { program } } })),
  nearby: (hosts: string[], announced: boolean, signal: AbortSignal) =>
    take(client.POST("/api/servers/nearby", { body: { hosts, announced }, signal })),

  newer: (id: string, signal: AbortSignal) => take(client.POST("/api/servers/{id}/newer", { ...at(id), signal })),
  update: (id: string, version: string, fingerprint: string) =>
    take(client.POST("/api/servers/{id}/newer/consent", { ...at(id), body: { version, fingerprint } })),
};
