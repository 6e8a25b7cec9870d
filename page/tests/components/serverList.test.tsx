import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import servers from "../recorded/broken_server.json";
import { openPage, read } from "../support/page";
import { server } from "../support/server";
import { RECORDED_AT } from "../support/setup";

const [wrong] = servers["GET /api/servers"].servers;
const ITS = `/api/servers/${wrong?.id}`;
const list = () => screen.findByRole("region", { name: "MCP servers" });

/** Return the server as one that runs. */
const running = (more = {}) => {
  const process = { pid: 4711, memoryBytes: 2_097_152, startedAt: RECORDED_AT / 1000 };
  return { ...wrong, state: "connected", label: "Connected, 1 tool", toolCount: 1, lastError: "", fix: "", process, ...more };
};

/** Open the settings at the list. */
async function openList(listed: object | undefined = wrong) {
  const person = await openPage("/settings/mcp", servers, { "GET /api/servers": { servers: [listed], problem: null } });
  const row = await within(await list()).findByRole("listitem", { name: "Wrong" });
  return { person, row };
}

test("the row of a server says what went wrong last and what to do", { tags: ["STA-05", "CON-24"] }, async () => {
  const { person, row } = await openList();
  expect(read(row)).toContain("Error: The program “no-such-program-anywhere” was not found on this machine.");
  await person.click(within(row).getByRole("button", { expanded: false }));
  expect(read(row)).toContain("was not found on this machine. Install it, or give its whole path.");
  expect(within(row).getByRole("button", { name: "Retry" })).toBeTruthy();
});

test("the checkbox of a server switches it off and on", { tags: ["SRV-20"] }, async () => {
  const { person, row } = await openList();
  let kept = { ...wrong };
  server.answers(`PATCH ${ITS}`, ({ body }: { body: object }) => (kept = { ...kept, ...body }));
  server.answers("GET /api/servers", () => ({ servers: [kept], problem: null }));
  const tick = within(row).getByRole<HTMLInputElement>("checkbox", { name: "Use Wrong" });
  expect(tick.checked).toBe(true);
  const sent = () => server.requests(`PATCH ${ITS}`).map(({ body }) => body);
  await person.click(tick);
  expect(sent()).toEqual([{ enabled: false }]);
  await waitFor(() => expect(tick.checked).toBe(false));
  await person.click(tick);
  expect(sent()).toEqual([{ enabled: false }, { enabled: true }]);
  await waitFor(() => expect(tick.checked).toBe(true));
});

test("a server is deleted after one question that names its credentials", { tags: ["SRV-20", "SRV-21"] }, async () => {
  const { person, row } = await openList();
  server.answers(`DELETE ${ITS}`, null);
  const remove = screen.getByRole<HTMLButtonElement>("button", { name: "Delete the server" });
  expect(remove.disabled).toBe(true);
  await person.click(within(row).getByRole("button", { expanded: false }));
  await person.click(remove);
  const asked = await screen.findByRole("dialog");
  expect(read(asked)).toContain('Delete "Wrong"? This will remove the MCP and its stored credentials.');
  await person.click(within(asked).getByRole("button", { name: "Cancel" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(server.requests(`DELETE ${ITS}`)).toEqual([]);
  await person.click(remove);
  server.answers("GET /api/servers", { servers: [], problem: null });
  await person.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Delete" }));
  await waitFor(async () => expect(read(await list())).toContain("No servers yet."));
  expect(server.requests(`DELETE ${ITS}`)).toHaveLength(1);
});

test("the row of a server leads to its process, its tools and its log", { tags: ["OBS-12", "STA-04"] }, async () => {
  const { person, row } = await openList(running());
  expect(read(row)).toContain("Connected, 1 tool");
  const told = { serverId: wrong?.id, name: "tides", qualifiedName: "wrong.tides", title: "", description: "High and low.", state: "offered" };
  server.answers(`GET ${ITS}/tools`, { tools: [told], next: null });
  server.answers(`GET ${ITS}/log`, { lines: [{ at: RECORDED_AT / 1000, source: "stderr", level: "info", text: "ready to sail" }] });
  await person.click(within(row).getByRole("button", { expanded: false }));
  expect(read(row)).toContain("pid 4711, 2.0 MB, up 1 h");
  await person.click(within(row).getByRole("button", { name: "View 1 tool" }));
  const tools = await screen.findByRole("dialog", { name: "Tools of Wrong" });
  expect(read(await within(tools).findByRole("listitem", { name: "wrong.tides" }))).toContain("High and low.");
  await person.keyboard("{Escape}");
  await person.click(within(row).getByRole("button", { name: "Logs" }));
  expect(read(await screen.findByRole("list", { name: "Log" }))).toContain("ready to sail");
});

test("the page says who is signed in to a server, and signs in again", { tags: ["AUT-17"] }, async () => {
  const signedIn = { account: "ada@harbour.example", host: "issuer.example", scopes: ["tides.read"], since: RECORDED_AT / 1000 };
  const { person, row } = await openList(running({ transport: "http", signedIn }));
  await person.click(within(row).getByRole("button", { expanded: false }));
  expect(read(row)).toContain("Connected as ada@harbour.example, at issuer.example");
  expect(read(row)).toContain("Rights: tides.read");
  expect(within(row).getByRole("button", { name: "Sign in again…" })).toBeTruthy();
  server.answers(`POST ${ITS}/sign-out`, running({ transport: "http" }));
  await person.click(within(row).getByRole("button", { name: "Sign out" }));
  expect(server.requests(`POST ${ITS}/sign-out`)).toHaveLength(1);
});

/** Open the form of the server. */
async function openForm(listed?: object) {
  const { person, row } = await openList(listed);
  await person.click(within(row).getByRole("button", { expanded: false }));
  await person.click(within(screen.getByRole("toolbar", { name: "MCP servers" })).getByRole("button", { name: "Edit" }));
  return { person, form: await screen.findByRole("dialog", { name: "Configure: Wrong" }) };
}

test("the form of a server has its name, Cancel and Save", { tags: ["SRV-24"] }, async () => {
  const { person, form } = await openForm();
  expect(within(form).getByRole<HTMLInputElement>("textbox", { name: "Name" }).value).toBe("Wrong");
  expect(within(form).getByRole("button", { name: "Save" })).toBeTruthy();
  await person.click(within(form).getByRole("button", { name: "Cancel" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

test("the form of a server that takes no key says so", { tags: ["SRV-25"] }, async () => {
  const { form } = await openForm(running());
  expect(read(form)).toContain("No authentication required.");
});

test("the form of a server that takes a key does not say that it takes none", { tags: ["SRV-25"] }, async () => {
  const { form } = await openForm(running({ authType: "api_key" }));
  expect(read(form)).not.toContain("No authentication required.");
});
