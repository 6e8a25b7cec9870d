import { client, take } from "./client";
import type { components } from "./schema";

export type ProcessList = components["schemas"]["ProcessList"];
export type ProcessEntry = components["schemas"]["ProcessEntry"];
export type RunEntry = components["schemas"]["RunEntry"];
export type RunList = components["schemas"]["RunList"];

/** As many runs as are shown; the rest is told by their number. */
const SHOWN = 100;

/** What is asked about the operation of the installation. */
export const operationApi = {
  processes: () => take(client.GET("/api/processes")),
  runs: () => take(client.GET("/api/runs", { params: { query: { limit: SHOWN } } })),
};
