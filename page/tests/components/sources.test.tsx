import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { openPage, read } from "../support/page";
import answers from "../recorded/answers.json";

test("sources are links that show where they lead, whatever a stranger wrote", { tags: ["UI-01", "UI-06"] }, async () => {
  const person = await openPage("/c/c_1", answers);
  const sources = await screen.findByRole("region", { name: "Sources" });
  expect(within(sources).getAllByRole("listitem")).toHaveLength(7);
  await person.click(within(sources).getByRole("button", { name: "2 more" }));
  expect(within(sources).getAllByRole("listitem")).toHaveLength(8);
  const links = within(sources).getAllByRole("link");
  expect(links.map((link) => link.getAttribute("href"))).toEqual([
    "https://boats.example/tides?x=1",
    "https://evil.example/",
    "https://evil.example/a",
    "https://long.example/",
    `https://${"very-long-host.".repeat(12)}example/`,
    "https://more.example/",
  ]);
  expect(new Set(links.map((link) => link.getAttribute("rel")))).toEqual(new Set(["noopener noreferrer"]));
  const [first, second, third] = links.map(read);
  expect(first).toBe("1Tides, explainedboats.example");
  // Whatever a title says, the host that it leads to stands beside it.
  expect(second).toContain("evil.example");
  expect(third).toBe("3elpmaxe.knab [31mevil.example");
  expect(read(sources)).toContain("<img src=x onerror=alert(1)>");
  expect(within(sources).queryAllByRole("img")).toEqual([]);
});
