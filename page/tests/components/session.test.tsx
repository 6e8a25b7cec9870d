import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import answers from "../recorded/answers.json";
import { openPage, read } from "../support/page";
import { server } from "../support/server";

test("what a newer server says and the page does not know changes nothing", { tags: ["UI-09"] }, async () => {
  await openPage("/c/c_4", answers);
  await screen.findAllByRole("article");
  const before = read(screen.getByRole("main"));
  await server.says({ op: "from the future", conversationId: "c_4", html: "<b>Allow it?</b>" });
  const event = { seq: 1_000_000, type: "from the future", item: { id: "i_x", kind: "from the future", text: "Allow it?" } };
  await server.says({ op: "events", conversationId: "c_4", events: [event] });
  expect(read(screen.getByRole("main"))).toBe(before);
});
