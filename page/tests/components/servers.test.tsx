import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import servers from "../recorded/broken_server.json";
import { openPage, read } from "../support/page";
import { server } from "../support/server";

test("the choice of tools says why a server has none", { tags: ["CON-24"] }, async () => {
  const person = await openPage("/c/c_1", servers);
  await person.click(screen.getByRole("button", { name: "Chat settings" }));
  const settings = await screen.findByRole("dialog", { name: "Chat settings" });
  const tools = await within(settings).findByRole("button", { name: "Tools of Wrong" });
  expect(read(tools)).toBe("Error");
  await person.click(tools);
  const why = "was not found on this machine. Install it, or give its whole path.";
  await waitFor(() => expect(read(settings)).toContain(why));
});

test("the form says what it understood and what is wrong", { tags: ["SRV-18", "REG-01"] }, async () => {
  const person = await openPage("/settings/mcp");
  await person.click(await screen.findByRole("button", { name: "Add a server" }));
  await person.click(await screen.findByRole("button", { name: "Enter it by hand" }));
  const line = await screen.findByRole("textbox", { name: "Command or address" });
  const form = screen.getByRole("dialog", { name: "Add a server" });
  const meaning = within(form).getByRole("status");
  await person.type(line, "npx -y @scope/server /folder");
  expect(read(meaning)).toContain("The npm package @scope/server, started by npx, with 1 argument.");
  expect(within(form).queryByLabelText("Token")).toBeNull();
  await person.clear(line);
  await person.type(line, "https://mcp.example.com/mcp");
  expect(read(meaning)).toContain("The server at mcp.example.com, over HTTP.");
  await within(form).findByLabelText("Token");
  await person.click(within(form).getByRole("button", { name: "Headers, transport, certificate, times" }));
  await person.click(await within(form).findByRole("button", { name: "Add a header" }));
  await person.type(await within(form).findByRole("textbox", { name: "Name of the header" }), "bad name");
  await person.click(within(form).getByRole("button", { name: "Add" }));
  expect(read(await within(form).findByRole("alert"))).toBe("“bad name” cannot be the name of a header.");
  expect(server.requests("POST /api/servers")).toEqual([]);
});
