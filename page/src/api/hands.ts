import { at, client, take } from "./client";
import type { Todo } from "./types";

const process = (id: string, processId: string) => ({ params: { path: { id, process: processId } } });

/** What the page asks of the server about the agent's hands: changes, todos, terminals. */
export const hands = {
  undoCall: (itemId: string) => take(client.POST("/api/calls/{id}/undo", at(itemId))),
  dropAside: (itemId: string) => take(client.POST("/api/calls/{id}/drop", at(itemId))),
  undoRun: (runId: string) => take(client.POST("/api/runs/{id}/undo", at(runId))),
  todos: (id: string) => take(client.GET("/api/conversations/{id}/todos", at(id))),
  keepTodos: (id: string, todos: Todo[]) => take(client.PUT("/api/conversations/{id}/todos", { ...at(id), body: { todos } })),
  terminals: (id: string) => take(client.GET("/api/conversations/{id}/terminal", at(id))),
  closeTerminal: (id: string) => take(client.DELETE("/api/conversations/{id}/terminal", at(id))),
  processOutput: (id: string, processId: string, from: number) =>
    take(
      client.GET("/api/conversations/{id}/processes/{process}", {
        params: { path: { id, process: processId }, query: { from } },
      }),
    ),
  stopProcess: (id: string, processId: string) =>
    take(client.POST("/api/conversations/{id}/processes/{process}/stop", process(id, processId))),
};
