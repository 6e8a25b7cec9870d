import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import models from "../recorded/models.json";
import { openPage, read } from "../support/page";

const [WINDOW, PRICES] = ["200K context", "$5 in, $25 out per 1M tokens"];

test("the window and the prices are shown where a model is chosen", { tags: ["MOD-20"] }, async () => {
  const person = await openPage("/", models);
  await person.click(screen.getByRole("button", { name: "Model: Script" }));
  expect(read(await screen.findByRole("menuitemradio", { name: /^Claude/ }))).toContain(`${WINDOW} · ${PRICES}`);
});

test("the card of a model tells its window, what it can do and its prices", { tags: ["MOD-20"] }, async () => {
  await openPage("/settings/models", models, { "GET /api/models/found": { found: [], note: "" } });
  const card = await screen.findByRole("listitem", { name: "Claude" });
  expect(read(card)).toContain(`${WINDOW} • Thinking ✓ • Images ✓ • ${PRICES}`);
});
