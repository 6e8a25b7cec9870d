import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import troubles from "../recorded/troubles.json";
import { openPage, read } from "../support/page";
import { Answer } from "../support/server";

const page = () => read(document.body);
const times = (words: string) => page().split(words).length - 1;
const alert = () => screen.findByRole("alert");

test("an attempt that broke off is one quiet line", { tags: ["F-28"] }, async () => {
  const person = await openPage("/c/c_1", troubles);
  const answer = await screen.findByRole("article");
  expect(read(answer)).toContain("The whole answer.");
  expect(screen.getAllByRole("article")).toHaveLength(1);
  const line = screen.getByRole("button", { name: /An attempt broke off/, expanded: false });
  await person.click(line);
  const [first] = document.querySelectorAll("[data-kind=response]");
  await waitFor(() => expect(read(first as Element)).toContain("A first try."));
});

test("an answer that broke off says why once", async () => {
  const person = await openPage("/c/c_2", troubles);
  await screen.findByRole("button", { name: "Try again" });
  expect(times("broke off its answer")).toBe(1);
  const [line] = screen.getAllByRole("button", { name: /An attempt broke off/, expanded: false });
  await person.click(line as Element);
  await waitFor(() => expect(times("broke off its answer")).toBe(2));
});

test("a model that fails again and again is told of once", async () => {
  await openPage("/c/c_3", troubles);
  await screen.findByRole("button", { name: "Try again" });
  expect(times("is overloaded or limits your requests")).toBe(1);
});

test("the place that an error names is a link to it", { tags: ["F-35"] }, async () => {
  const person = await openPage("/c/c_4", troubles, { "GET /api/models/found": { found: [], note: "" } });
  const failed = await alert();
  expect(read(failed)).toContain("Check the key in Settings, Models.");
  await person.click(within(failed).getByRole("link", { name: "Settings, Models" }));
  expect(location.pathname).toBe("/settings/models");
  await screen.findByRole("listitem", { name: "Script" });
});

test("a call that fails says why in its line", async () => {
  await openPage("/c/c_5", troubles);
  await screen.findByText("It is not there.");
  expect(read(document.querySelector("[data-kind=tool_call]") as Element)).toMatch(/Failed: .*no_such_tool/);
});

test("a cut answer stays marked when something else was said", async () => {
  await openPage("/c/c_6", troubles);
  const told = await alert();
  expect(read(told)).toContain("The answer was cut");
  expect(within(told).queryByRole("button")).toBeNull();
  expect(read(told)).not.toContain("go on");
});

test("below an answer that went on stands what all of it took", async () => {
  await openPage("/c/c_7", troubles);
  const answer = await screen.findByRole("article");
  expect(read(answer)).toContain("110 tokens in · 70 out");
});

test("a citation of a document that is gone says so in words for the page", async () => {
  const gone = { code: "not_found", message: "There is no document “00000000”.", fix: "" };
  const person = await openPage("/c/c_8", troubles, { "GET /api/documents/00000000/text": new Answer(404, gone) });
  await person.click(await screen.findByRole("button", { name: "Gone.pdf p. 1, line 1" }));
  const told = await within(await screen.findByRole("dialog")).findByRole("alert");
  expect(read(told)).toBe("This document is not there any more.");
});
