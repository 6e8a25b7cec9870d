import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import answers from "../recorded/answers.json";
import calls from "../recorded/calls.json";
import { openPage, read } from "../support/page";
import { server } from "../support/server";

const LIST = "/api/conversations/c_4/todos";
const kept = answers["GET /api/state?conversation=c_4"].snapshot.todos;

/** Open the panel at the list. */
async function openPanel(path: string, ...recordings: Parameters<typeof openPage>[1][]) {
  const person = await openPage(path, ...recordings, { [`GET ${LIST}`]: kept });
  await person.click(screen.getByRole("button", { name: "Panel" }));
  await person.click(await screen.findByRole("tab", { name: /^Todos/ }));
  return { person, panel: await screen.findByRole("tabpanel") };
}

test("the list beside the chat tells how far it is", { tags: ["TOD-17"] }, async () => {
  const { panel } = await openPanel("/c/c_4", answers);
  await waitFor(() => expect(read(panel)).toContain("1 of 4 done"));
  expect(within(panel).getByRole("progressbar", { name: "Progress of the todos" })).toBeTruthy();
  const rows = [...within(panel).getByRole("list", { name: "Todos" }).children].map(read);
  expect(rows).toHaveLength(4);
  expect(rows[1]).toContain("In progress");
  expect(rows[1]).toContain("High priority");
  expect(read(within(panel).getByRole("list", { name: "Steps of Mend the hull" }))).toContain("Sand it (done)");
  expect(rows[2]).toContain("He is on leave.");
  expect(rows[3]).toContain("After: Mend the hull");
  expect(within(panel).getByRole<HTMLInputElement>("checkbox", { name: "Read the notes" }).checked).toBe(true);
});

test("a list with nothing on it says so", async () => {
  const { panel } = await openPanel("/c/c_2", calls, { "GET /api/conversations/c_2/todos": { todos: [], updatedAt: 0 } });
  await waitFor(() => expect(read(panel)).toContain("Nothing is on the list."));
});

test("the person ticks what is done and clears the list", async () => {
  const { person, panel } = await openPanel("/c/c_4", answers);
  server.answers(`PUT ${LIST}`, ({ body }: { body: object }) => ({ ...body, updatedAt: kept.updatedAt + 1 }));
  await person.click(within(panel).getByRole("checkbox", { name: "Mend the hull" }));
  await waitFor(() => expect(read(panel)).toContain("2 of 4 done"));
  const [ticked] = server.requests(`PUT ${LIST}`).map(({ body }) => body as typeof kept);
  expect(ticked?.todos[1]?.status).toBe("completed");
  await person.click(within(panel).getByRole("button", { name: "Clear" }));
  await person.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Clear" }));
  await waitFor(() => expect(read(panel)).toContain("Nothing is on the list."));
  expect(server.requests(`PUT ${LIST}`).at(-1)?.body).toMatchObject({ todos: [] });
});

test("a reminder is one quiet line that opens", async () => {
  const person = await openPage("/c/c_4", answers);
  await screen.findAllByRole("article");
  const reminder = [...document.querySelectorAll<HTMLElement>("[data-kind=reminder]")].at(-1) as HTMLElement;
  expect(read(reminder)).toBe("Reminder to the model");
  await person.click(within(reminder).getByRole("button"));
  expect(read(reminder)).toContain("Mend the hull");
});

test("what was ticked elsewhere is seen when someone comes back", { tags: ["CHT-05"] }, async () => {
  const { panel } = await openPanel("/c/c_4", answers);
  await waitFor(() => expect(read(panel)).toContain("1 of 4 done"));
  const todos = kept.todos.map((todo, at) => (at === 1 ? { ...todo, status: "completed" } : todo));
  server.answers(`GET ${LIST}`, { todos, updatedAt: kept.updatedAt + 1 });
  fireEvent.focus(window);
  await waitFor(() => expect(read(panel)).toContain("2 of 4 done"));
});
