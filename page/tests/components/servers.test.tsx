import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import servers from "../recorded/broken_server.json";
import { openPage, read } from "../support/page";

test("the choice of tools says why a server has none", async () => {
  const person = await openPage("/c/c_1", servers);
  await person.click(screen.getByRole("button", { name: "Chat settings" }));
  const settings = await screen.findByRole("dialog", { name: "Chat settings" });
  const tools = await within(settings).findByRole("button", { name: "Tools of Wrong" });
  expect(read(tools)).toBe("Error");
  await person.click(tools);
  const why = "was not found on this machine. Install it, or give its whole path.";
  await waitFor(() => expect(read(settings)).toContain(why));
});
