import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import calls from "../recorded/calls.json";
import replay from "../recorded/replay.json";
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

/** Return what is offered behind "More" in a row. */
async function offered(person: Awaited<ReturnType<typeof openPage>>, row: HTMLElement): Promise<string[]> {
  await person.click(within(row).getByRole("button", { name: /^More about this (answer|message)$/ }));
  const items = within(await screen.findByRole("menu")).getAllByRole("menuitem").map(read);
  await person.keyboard("{Escape}");
  await waitFor(() => expect(screen.queryByRole("menu")).toBeNull());
  return items;
}

test("a replay offers no way on", async () => {
  const person = await openPage("/c/c_1?branch=1", replay);
  await screen.findByRole("button", { name: "Back to the conversation" });
  const rows = [...document.querySelectorAll<HTMLElement>("[data-kind=user_message], [data-kind=response]")];
  const words = [/First question/, /One\..*Script/, /Second question/, /Two\..*Free one/];
  expect(rows.map(read)).toEqual(words.map((each) => expect.stringMatching(each)));
  const [, before, message, answer] = rows as [HTMLElement, HTMLElement, HTMLElement, HTMLElement];
  const [hide, copy] = ["Hide from models", /^Branch into a new conversation/];
  for (const replayed of [message, answer]) {
    const items = await offered(person, replayed);
    expect(items).toContain(hide);
    expect(items).not.toContainEqual(expect.stringMatching(copy));
  }
  // What came before it belongs to the conversation.
  const items = await offered(person, before);
  expect(items).toContain(hide);
  expect(items).toContainEqual(expect.stringMatching(copy));
  expect(screen.queryByRole("button", { name: "Branch from here" })).toBeNull();
});
