import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import changes from "../recorded/changes.json";
import { openPage, read } from "../support/page";

/** Return the row of the call that made a file. */
async function callOf(file: string): Promise<HTMLElement> {
  await screen.findAllByText("Done.");
  const rows = [...document.querySelectorAll<HTMLElement>("[data-kind=tool_call]")];
  return rows.find((row) => read(row).includes(`Created ${file}`)) as HTMLElement;
}

test("a call of a built-in tool has its picture, its line and its details", { tags: ["TCL-10", "TCL-14", "TCL-24", "TCL-25", "TCL-26"] }, async () => {
  const person = await openPage("/c/c_1", changes);
  const row = await callOf("hull.py");
  expect(read(row)).toContain("Completed");
  expect(row.querySelector("svg")).toBeTruthy();
  expect(within(row).queryByRole("list", { name: "Details" })).toBeNull();
  expect(read(row)).not.toContain("length = 12");
  await person.click(within(row).getAllByRole("button", { expanded: false })[0] as Element);
  const details = await within(row).findByRole("list", { name: "Details" });
  expect(read(details)).toContain("/files/ship/hull.py");
  expect(read(row)).toContain("Files: done");
  expect(read(row)).toContain("length = 12");
  expect(read(row)).toContain("Created hull.py (+1 −0).");
});

test("text of a file is text, and what cannot be seen is spelled out", { tags: ["UI-01"] }, async () => {
  await openPage("/c/c_1", changes);
  // What was changed stands in the flow.
  const change = await screen.findByRole("group", { name: "Changes of trick.html" });
  await waitFor(() => expect(read(change)).toContain("+<img src=x onerror=alert(1)>\\u{202e}"));
  expect(change.querySelector("img")).toBeNull();
});

test("a long change is folded until all of it is wanted", async () => {
  const person = await openPage("/c/c_1", changes);
  const card = (await screen.findAllByRole("region", { name: "Changed files" })).at(-1) as HTMLElement;
  await waitFor(() => expect(read(card)).toContain("row 1"));
  expect(read(card)).not.toContain("row 20");
  await person.click(within(card).getByRole("button", { name: "Show all (600 lines)" }));
  await waitFor(() => expect(read(card)).toContain("row 599"));
  await person.click(within(card).getByRole("button", { name: "Show less" }));
  await waitFor(() => expect(read(card)).not.toContain("row 20"));
});
