import { screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import answers from "../recorded/answers.json";
import { openPage } from "../support/page";
import { server } from "../support/server";

test("a conversation is deleted, and brought back by Undo", { tags: ["PLT-03"] }, async () => {
  const person = await openPage("/", answers);
  const { conversation } = answers["GET /api/state?conversation=c_5"].snapshot;
  server.answers("DELETE /api/conversations/c_5", null);
  server.answers("POST /api/conversations/c_5/restore", conversation);
  await person.click(screen.getByRole("button", { name: "Delete Stopped" }));
  await waitFor(() => expect(screen.queryByRole("link", { name: /^Stopped/ })).toBeNull());
  expect(server.requests("DELETE /api/conversations/c_5")).toHaveLength(1);
  await person.click(await screen.findByRole("button", { name: "Undo" }));
  await screen.findByRole("link", { name: /^Stopped/ });
  expect(server.requests("POST /api/conversations/c_5/restore")).toHaveLength(1);
});
