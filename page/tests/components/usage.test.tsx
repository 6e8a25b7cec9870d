import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import usage from "../recorded/usage.json";
import { openPage, read } from "../support/page";

const plot = () => screen.findByRole("img", { name: /per day, by model/ });

/** Return what is drawn, one for each model on each day, once there are so many. */
async function blocks(wanted: number): Promise<Element[]> {
  const drawn = (await plot()).getElementsByTagName("rect");
  const inked = () => [...drawn].filter((block) => block.hasAttribute("data-ink"));
  await waitFor(() => expect(inked()).toHaveLength(wanted));
  return inked();
}

const main = () => read(screen.getByRole("main"));
const rows = (table: HTMLElement) => within(table).getAllByRole("row").map(read);

const choose = async (person: Awaited<ReturnType<typeof openPage>>, group: string, label: string) =>
  person.click(within(screen.getByRole("radiogroup", { name: group })).getByLabelText(label));

test("the plot and the tables tell the same by day and model", async () => {
  const person = await openPage("/settings/usage", usage);
  expect((await plot()).getAttribute("aria-label")).toBe("Tokens per day, by model, in the last 30 days");
  const [, free, script] = rows(await screen.findByRole("region", { name: "Usage by model" }));
  expect(free).toMatch(/Free one\s*4\s*800,000\s*400,000\s*40,000\s*no price known/);
  expect(script).toMatch(/Script\s*8\s*600,000\s*300,000\s*30,000\s*\$2\.25/);
  await person.click(screen.getByRole("button", { name: "The numbers of the plot" }));
  const byDay = rows(screen.getByRole("region", { name: "Usage by day" }));
  expect(byDay).toHaveLength(3);
  expect(byDay[1]).toMatch(/840,000\s*420,000\s*1,260,000$/);
  expect(byDay[2]).toMatch(/–\s*210,000\s*210,000$/);
  // As high as the numbers say, less the line between two that touch.
  const [first = 0, second = 0, third = 0] = (await blocks(3)).map((block) => Number(block.getAttribute("height")));
  expect(first / second).toBeCloseTo(210 / 840, 1);
  expect(third / second).toBeCloseTo(420 / 840, 1);
});

test("one chooses how many days, and whether tokens or cost", async () => {
  const person = await openPage("/settings/usage", usage);
  await blocks(3);
  await choose(person, "Days", "7 days");
  await blocks(2);
  await choose(person, "Days", "90 days");
  await blocks(4);
  expect(main()).toContain("Last 90 days");
  await choose(person, "What is shown", "Cost");
  expect((await plot()).getAttribute("aria-label")).toBe("Cost per day, by model, in the last 90 days");
  // What has no price is not drawn, and that is said.
  await blocks(3);
  expect(main()).toContain("What has no known price is missing here: Free one.");
  expect(main()).toContain("about $2.50; no price known for 4 requests");
  expect(main()).toMatch(/Prices: litellm \S+ of \d{4}-\d\d-\d\d; of Script as you set them/);
});

test("pointing at a day tells what it was", async () => {
  await openPage("/settings/usage", usage);
  const last = (await blocks(3)).at(-1);
  fireEvent.pointerEnter(last?.closest("g") as Element);
  expect(main()).toMatch(/: 1\.3M tokens; Free one 840k, Script 420k/);
});

test("without any use it says so", async () => {
  await openPage("/settings/usage");
  await screen.findByText("No model was asked anything in the last 30 days.");
  expect(screen.queryByRole("img", { name: /per day, by model/ })).toBeNull();
});
