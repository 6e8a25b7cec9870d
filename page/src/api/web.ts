import { at, client, take } from "./client";

/** What the page asks about searching the web and making pictures. */
export const web = {
  services: () => take(client.GET("/api/web")),
  setKey: (use: string, value: string | null) => take(client.PUT("/api/web/{id}/key", { ...at(use), body: { value } })),
  test: (use: string) => take(client.POST("/api/web/{id}/test", at(use))),
};
