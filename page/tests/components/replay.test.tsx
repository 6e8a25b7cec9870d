import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import calls from "../recorded/calls.json";
import { openPage, read } from "../support/page";
import { Answer } from "../support/server";

const gone = { code: "not_found", message: "There is no such run.", fix: "" };

test("an answer that there is not cannot be replayed, and that is said", async () => {
  await openPage("/c/c_1?replay=r_gone", calls, { "GET /api/runs/r_gone": new Answer(404, gone) });
  expect(read(await screen.findByRole("alert"))).toBe("There is no such answer in this conversation.");
});

test("a replay that there is not is said, and a new one can be started", async () => {
  const person = await openPage("/c/c_1?replay=r_1&with=7", calls);
  expect(read(await screen.findByRole("alert"))).toBe("There is no such replay.");
  await person.click(screen.getByRole("button", { name: "Start a new one" }));
  await screen.findByRole("form", { name: "New replay" });
});
