import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import servers from "../recorded/broken_server.json";
import { openPage, read } from "../support/page";
import { Answer, server } from "../support/server";

const id = servers["GET /api/servers"].servers[0]?.id;
const [message, fix] = ["Authorization failed. Please try again.", "Ask the harbour office."];
const refused = { "POST /api/servers/sign-in": new Answer(409, { code: "refused", message, fix }) };

test("a sign-in that failed says so in both tabs and offers Retry", { tags: ["ERR-05", "OAUTH-09"] }, async () => {
  const heard: unknown[] = [];
  const other = new BroadcastChannel("pilothouse.sign-in");
  other.onmessage = ({ data }) => heard.push(data);
  await openPage(`/oauth/callback?error=harbour-office&state=${id}.abc`, servers, refused);
  expect(read(await screen.findByRole("alert"))).toBe(message);
  expect(screen.getByRole("button", { name: "Retry" })).toBeTruthy();
  await waitFor(() => expect(heard).toEqual([{ serverId: id, message }]));
  other.close();
  // Nothing of what came with it is shown, nor is it in the address.
  expect(read(document.body)).not.toMatch(/harbour.office/);
  expect(location.search).toBe("");
  expect(server.requests("POST /api/servers/sign-in").map(({ body }) => body)).toEqual([{ address: `?error=harbour-office&state=${id}.abc` }]);
});

const begun = { url: "https://issuer.example/authorize?x=1", scopes: ["tides.read", "tides.write"], added: ["tides.write"], leftOut: 1, seconds: 600 };

/** Begin to sign in. */
async function openSignIn(more = {}) {
  const person = await openPage(`/settings/mcp?sign-in=${id}`, servers, { [`POST /api/servers/${id}/sign-in`]: { ...begun, ...more } });
  return { person, dialog: await screen.findByRole("dialog") };
}

test("before one leaves for a sign-in one reads the server, the host and the rights", { tags: ["OAUTH-14"] }, async () => {
  const { dialog } = await openSignIn();
  const rights = await within(dialog).findByRole("list", { name: "Rights" });
  expect(within(rights).getAllByRole("listitem").map(read)).toEqual(["tides.read", "tides.write (new)"]);
  expect(read(dialog)).toContain("1 more that it names is not asked for");
  expect(read(dialog)).toContain("no-such-program-anywhere");
  expect(read(dialog)).toContain("You sign in atissuer.example");
});

test("a sign-in that took too long says so and offers Retry", { tags: ["ERR-06"] }, async () => {
  const { dialog } = await openSignIn({ seconds: 0.6 });
  await waitFor(() => expect(read(dialog)).toContain("Authorization timed out after 0.01 minutes."));
  expect(within(dialog).getByRole("button", { name: "Retry" })).toBeTruthy();
});
