import { at, client, take } from "./client";
import type { Retry } from "./types";

/** What the page asks of the server about other ways on. */
export const branchesApi = {
  tree: (id: string) => take(client.GET("/api/conversations/{id}/branches", at(id))),
  choose: (id: string, branch: number) => take(client.POST("/api/conversations/{id}/branch", { ...at(id), body: { branch } })),
  retry: (runId: string, retry: Retry) => take(client.POST("/api/runs/{id}/retry", { ...at(runId), body: retry })),
  leftBehind: (runId: string, itself: boolean) =>
    take(client.GET("/api/runs/{id}/left-behind", { params: { path: { id: runId }, query: { itself } } })),
  putFilesBack: (runId: string, itself: boolean) =>
    take(client.POST("/api/runs/{id}/put-files-back", { ...at(runId), body: { itself } })),
  copy: (runId: string) => take(client.POST("/api/runs/{id}/copy", { ...at(runId), body: {} })),
  hide: (itemId: string) => take(client.POST("/api/items/{id}/hide", at(itemId))),
  show: (itemId: string) => take(client.POST("/api/items/{id}/show", at(itemId))),
};
