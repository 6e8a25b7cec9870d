import { at, client, take } from "./client";
import type { Todo } from "./types";

export type SandboxKind = "bubblewrap" | "landlock" | "none";

export interface SandboxView {
  kind: SandboxKind;
  warning: string;
}

export interface TerminalView {
  sessionId: string;
  conversationId: string;
  ttyName: string;
  workingDirectory: string;
  shell: string;
  pid: number;
  columns: number;
  rows: number;
  startedAt: number;
  endIndex: number;
  running: boolean;
  exitCode: number | null;
  sandbox: SandboxKind;
}

export interface ProcessView {
  id: string;
  conversationId: string;
  itemId: string;
  command: string;
  pid: number;
  startedAt: number;
  endedAt: number | null;
  exitCode: number | null;
  outputBytes: number;
}

export interface TerminalList {
  sessions: TerminalView[];
  processes: ProcessView[];
  sandbox: SandboxView;
}

export interface ProcessOutput {
  output: string;
  endIndex: number;
  running: boolean;
  exitCode: number | null;
}

export interface TerminalSettings {
  shell: string;
  sandbox: "on" | "off";
  network: boolean;
  timeout: number;
}

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method, credentials: "same-origin" };
  if (body !== undefined) Object.assign(init, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  const answer = async () => {
    const response = await globalThis.fetch(path, init);
    const parsed = (await response.json().catch(() => null)) as T;
    return response.ok ? { data: parsed, response } : { error: parsed, response };
  };
  return take(answer());
}

const named = encodeURIComponent;

/** What the page asks of the server about the agent's hands: changes, todos, terminals. */
export const hands = {
  undoCall: (itemId: string) => take(client.POST("/api/calls/{id}/undo", at(itemId))),
  undoRun: (runId: string) => take(client.POST("/api/runs/{id}/undo", at(runId))),
  keepTodos: (id: string, todos: Todo[]) => take(client.PUT("/api/conversations/{id}/todos", { ...at(id), body: { todos } })),
  terminals: (id: string) => ask<TerminalList>("GET", `/api/conversations/${named(id)}/terminal`),
  closeTerminal: (id: string) => ask<null>("DELETE", `/api/conversations/${named(id)}/terminal`),
  processOutput: (id: string, processId: string, from: number) =>
    ask<ProcessOutput>("GET", `/api/conversations/${named(id)}/processes/${named(processId)}?from=${from}`),
  stopProcess: (id: string, processId: string) =>
    ask<ProcessView>("POST", `/api/conversations/${named(id)}/processes/${named(processId)}/stop`),
};
