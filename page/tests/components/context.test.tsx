import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import answers from "../recorded/answers.json";
import { openPage, read } from "../support/page";
import { server } from "../support/server";

const ring = () => screen.findByRole("button", { name: /^Context/ });
const name = async () => (await ring()).getAttribute("aria-label");
const ledger = answers["GET /api/conversations/c_2/context"];

/** Open what the ring opens. */
async function openPanel(path: string, more = {}) {
  const person = await openPage(path, answers, more);
  await person.click(await ring());
  const shown = await screen.findByRole("tabpanel", { name: "Context" });
  await within(shown).findByRole("table", { name: "What fills the window" });
  return { person, shown };
}

test.each([
  [54_000, "Context: 42% of 128,000 tokens used", null],
  [70_000, "Context: 55% of 128,000 tokens used", null],
  [96_000, "Context: 75% of 128,000 tokens used; older turns are summed up soon", "true"],
])("the ring says how full the window is: %i tokens", async (used, words, near) => {
  await openPage("/c/c_2", answers, { "GET /api/conversations/c_2/context": { ...ledger, used } });
  await waitFor(async () => expect(await name()).toBe(words));
  expect((await ring()).getAttribute("data-near")).toBe(near);
});

test("there is no ring before anything was said", async () => {
  await openPage("/");
  expect(screen.queryByRole("button", { name: /^Context/ })).toBeNull();
});

test("what fills the window is told by kind and server, and adds up", async () => {
  const harbour = { kind: "tools", label: "harbour", tokens: 1_234, server: "harbour" };
  const told = { ...ledger, used: ledger.used + 1_234, parts: [...ledger.parts, harbour] };
  expect(told.parts.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(told.used);
  const { shown } = await openPanel("/c/c_2", { "GET /api/conversations/c_2/context": told });
  const used = told.used.toLocaleString("en");
  expect(read(shown)).toContain(`${used} of 128,000 tokens`);
  const table = within(shown).getByRole("table", { name: "What fills the window" });
  for (const part of ["Tools", "harbour", "Conversation", "Instructions", "Free"])
    expect(within(table).getByRole("rowheader", { name: part })).toBeTruthy();
  const row = (words: string) => read(within(table).getByRole("rowheader", { name: words }).closest("tr") as Element);
  expect(row("harbour")).toContain("1,234");
  expect(row("Free")).toContain((128_000 - told.used).toLocaleString("en"));
  const left = (108_800 - told.used).toLocaleString("en");
  expect(read(shown)).toContain(`Older turns are summed up above 108,800 tokens; ${left} are left until then.`);
  const facts = read(within(shown).getByRole("region", { name: "This conversation" }));
  expect(facts).toContain("about $0.068");
  expect(facts).toContain("15,000 of what went in; 71% of the last request");
  expect(facts).toContain("30,000 in, 1,200 out");
});

test("the last messages say what each took and lead to it", async () => {
  const { person, shown } = await openPanel("/c/c_2");
  const [second, first, ...more] = within(within(shown).getByRole("region", { name: "Last messages" })).getAllByRole("listitem");
  expect(more).toEqual([]);
  expect(read(second as Element)).toContain("The second of two");
  expect(read(second as Element)).toContain("1 request · 20k in · 1.1k out · about $0.036");
  await person.click(within(first as HTMLElement).getByRole("link", { name: "The first of two" }));
  expect(location.search).toMatch(/^\?item=/);
  await waitFor(() => expect(read(document.querySelector("[data-target]") as Element)).toContain("The first of two"));
});

test("a model without a price says so in words, and another model has another window", async () => {
  const { person, shown } = await openPanel("/c/c_3");
  expect(await name()).toBe("Context: 50% of 32,000 tokens used");
  expect(read(within(shown).getByRole("region", { name: "This conversation" }))).toContain("no price known");
  const { conversation } = answers["GET /api/state?conversation=c_3"].snapshot;
  server.answers("PATCH /api/conversations/c_3", ({ body }: { body: object }) => ({ ...conversation, ...body }));
  server.answers("GET /api/conversations/c_3/context", ledger);
  await person.click(screen.getByRole("button", { name: "Model: Free one" }));
  await person.click(await screen.findByRole("menuitemradio", { name: /^Script/ }));
  await waitFor(async () => expect(await name()).toMatch(/of 128,000 tokens used/));
});

test("an answer that was stopped counts and says that it is estimated", async () => {
  const { shown } = await openPanel("/c/c_5");
  expect(read(screen.getByRole("article"))).toMatch(/Stopped\..*estimated: [\d.]+k tokens in/);
  const facts = read(within(shown).getByRole("region", { name: "This conversation" }));
  expect(facts).toContain("1; 1 estimated");
  expect(facts).toContain("about $");
});

test("the ledger of a model that is gone says so and keeps what is known", async () => {
  const { shown } = await openPanel("/c/c_6");
  expect(await name()).toMatch(/Context: There is no model “gone”/);
  const window = read(within(shown).getByRole("region", { name: "Window" }));
  expect(window).toContain("Choose another one to go on");
  expect(window).not.toContain("of 0 tokens");
  expect(read(within(shown).getByRole("table", { name: "What fills the window" }))).toContain("Conversation");
  expect(read(within(shown).getByRole("region", { name: "This conversation" }))).toContain("16,000 in, 20 out");
});
