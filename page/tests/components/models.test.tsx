import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import models from "../recorded/models.json";
import { openPage, read } from "../support/page";
import { server, type SentRequest } from "../support/server";

const [WINDOW, PRICES] = ["200K context", "$5 in, $25 out per 1M tokens"];

/** The answers of a server that finds no models on its machine, and knows nothing more about those that a form names. */
const nothingMore = {
  "GET /api/models/found": { found: [], note: "" },
  "POST /api/models/about": ({ body }: SentRequest) => models["GET /api/state"].models.models.find(({ id }) => id === (body as { id: string }).id),
};
const openModels = (path = "/settings/models") => openPage(path, models, nothingMore);

const card = (name: string) => screen.findByRole("listitem", { name });
const button = (name: string | RegExp, inside?: HTMLElement) => (inside ? within(inside) : screen).getByRole("button", { name });

test("the window and the prices are shown where a model is chosen", { tags: ["MOD-20"] }, async () => {
  const person = await openPage("/", models);
  await person.click(button("Model: Script"));
  expect(read(await screen.findByRole("menuitemradio", { name: /^Claude/ }))).toContain(`${WINDOW} · ${PRICES}`);
});

test("the card of a model tells its window, what it can do and its prices", { tags: ["MOD-20"] }, async () => {
  await openModels();
  expect(read(await card("Claude"))).toContain(`${WINDOW} • Thinking ✓ • Images ✓ • ${PRICES}`);
});

test("a card tells the host of its model, and thinking only of one that thinks", { tags: ["MOD-19", "MOD-20"] }, async () => {
  await openModels();
  expect(read(await card("Deep thinker"))).toContain("127.0.0.1:9 • 200K context • Thinking ✓");
  const fast = read(await card("Fast one"));
  expect(fast).toContain("127.0.0.1:9 • 128K context");
  expect(fast).not.toContain("Thinking");
});

test("every model can be edited, and deleted unless it is the default", { tags: ["MOD-19"] }, async () => {
  const person = await openModels();
  const [deep, script] = [await card("Deep thinker"), await card("Script")];
  within(script).getByText("Default");
  expect(within(deep).queryByText("Default")).toBeNull();
  const kept = button("Delete Script: This is the default. Make another model the default to delete it.", script);
  expect(kept.getAttribute("aria-disabled")).toBe("true");
  await person.click(kept);
  expect(screen.queryByText(/^Delete “Script”\?/)).toBeNull();
  await person.click(button("Delete Deep thinker", deep));
  await screen.findByText("Delete “Deep thinker”?");
  await person.click(button("Keep"));
  await person.click(button("Edit Deep thinker", deep));
  await screen.findByRole("dialog", { name: "Edit Deep thinker" });
  await person.click(button("Cancel"));
  await person.click(button("Edit Script", script));
  await screen.findByRole("dialog", { name: "Edit Script" });
});

test("a form with mistakes says a sentence for each and sends nothing", { tags: ["MOD-01"] }, async () => {
  const person = await openModels("/settings/models?add=1");
  const form = await screen.findByRole("dialog", { name: "Add a model" });
  const address = within(form).getByRole("textbox", { name: "Base URL" });
  await person.clear(address);
  await person.type(address, "no address");
  await person.click(button("Add", form));
  for (const sentence of [
    "Give the model a name.",
    "Write a web address that begins with http:// or https://.",
    "Say which of the provider's models to use.",
    "Paste the key, or choose another source.",
  ]) {
    within(form).getByText(sentence);
  }
  await person.type(within(form).getByRole("textbox", { name: "Name" }), "A name");
  expect(within(form).queryByText("Give the model a name.")).toBeNull();
  within(form).getByText("Paste the key, or choose another source.");
  expect(server.requested.filter(({ method }) => method !== "GET")).toEqual([]);
});

test("the list of models ticks the current one and ends with Manage Models…", { tags: ["MOD-16", "MOD-17"] }, async () => {
  const person = await openModels("/");
  const ticked = () => screen.getAllByRole("menuitemradio", { checked: true }).map(read);
  await person.click(button("Model: Script"));
  const menu = await screen.findByRole("menu");
  expect(ticked()).toEqual([expect.stringMatching(/^Script/)]);
  const items = within(menu).getAllByRole("menuitem");
  expect(items.map(read)).toEqual(["Compare models…", "Manage Models…"]);
  const last = items.at(-1);
  expect(last?.nextElementSibling).toBeNull();
  expect(last?.previousElementSibling?.className).toContain("divider");
  await person.click(within(menu).getByRole("menuitemradio", { name: /^Deep thinker/ }));
  await person.click(await screen.findByRole("button", { name: "Model: Deep thinker" }));
  await screen.findByRole("menu");
  expect(ticked()).toEqual([expect.stringMatching(/^Deep thinker/)]);
  await person.click(screen.getByRole("menuitemradio", { name: /^Script/ }));
  await person.click(await screen.findByRole("button", { name: "Model: Script" }));
  await person.click(await screen.findByRole("menuitem", { name: "Manage Models…" }));
  const tab = await screen.findByRole("tab", { name: "Models" });
  expect(tab.getAttribute("aria-selected")).toBe("true");
});
