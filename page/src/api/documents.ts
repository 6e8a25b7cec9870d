import { ApiError, at, client, problemOf, take } from "./client";
import { fetchAsPage } from "./csrf";
import type { Document, DocumentPatch, TakenDocument } from "./types";

/** Where a new document goes: with nothing it waits for the message that it will be attached to. */
interface Where {
  scope?: "conversation" | "topic" | "folder" | "everywhere";
  scopeId?: string;
  seenBy?: string;
}

/** Give the server a file to read and keep. */
async function upload(name: string, file: Blob, where: Where = {}): Promise<TakenDocument> {
  const query = new URLSearchParams({ name, ...where });
  const request = new Request(`/api/documents?${query}`, {
    method: "POST",
    body: file,
    // A body that is no JSON has this one name, whatever is in it.
    headers: { "content-type": "application/x-ndjson" },
    credentials: "same-origin",
  });
  const unreachable = { code: "unreachable" as const, message: "The server cannot be reached.", fix: "Check that pilothouse is still running." };
  const answer = await fetchAsPage(request).catch(() => {
    throw new ApiError(0, unreachable);
  });
  const said: unknown = await answer.json().catch(() => null);
  if (!answer.ok) throw new ApiError(answer.status, problemOf(said, answer.status));
  return said as TakenDocument;
}

interface Place {
  page?: number;
  line?: number;
  first?: number;
  before?: number;
  limit?: number;
}

/** Everything the page asks of the server about documents. */
export const documents = {
  upload,
  seenBy: (conversation: string) => take(client.GET("/api/documents", { params: { query: { seenBy: conversation } } })),
  of: ({ kind, id }: Document["scope"]) => take(client.GET("/api/documents", { params: { query: { scope: kind, scopeId: id } } })),
  text: (id: string, place: Place) =>
    take(client.GET("/api/documents/{id}/text", { params: { path: { id }, query: place } })),
  searchIn: (document: string, q: string, signal: AbortSignal) =>
    take(client.GET("/api/documents/search", { params: { query: { q, document, most: 30 } }, signal })),
  update: (id: string, body: DocumentPatch) => take(client.PATCH("/api/documents/{id}", { ...at(id), body })),
  remove: (id: string) => take(client.DELETE("/api/documents/{id}", at(id))),
  restore: (id: string) => take(client.POST("/api/documents/{id}/restore", at(id))),
};

/** Return where a document's file is, as it came. */
export const documentUrl = (document: Pick<Document, "id">) => `/api/documents/${encodeURIComponent(document.id)}/file`;
