import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import finding from "../recorded/finding.json";
import { openPage, read } from "../support/page";

/** Open the dialog that finds servers; return the person and how words are put into its box, all at once. */
async function openFinder() {
  const person = await openPage("/settings/mcp", finding);
  await person.click(await screen.findByRole("button", { name: "Add a server" }));
  const box = await screen.findByRole("textbox", { name: "Search, paste or drop a server" });
  return { person, ask: (words: string) => void fireEvent.change(box, { target: { value: words } }) };
}

const found = async (title: string) => {
  const row = await screen.findByText(title);
  return row.closest("[role=option]") as HTMLElement;
};

test("each result says what it is and where it was found", { tags: ["REG-05"] }, async () => {
  const { ask } = await openFinder();
  ask("harbour");
  const tides = read(await found("Tide tables"));
  for (const words of ["io.github.harbour/tides", "High and low water for every harbour.", "Official", "2.1.0", "/mcp"]) {
    expect(tides).toContain(words);
  }
  expect(tides).not.toContain("verified");
});

test("what a registry says is only text, and what is not to be used any more says so", { tags: ["REG-05"] }, async () => {
  const { ask } = await openFinder();
  ask("jetty");
  const old = await found("Jetty <i>old</i>");
  expect(read(old)).toContain("Deprecated: Use tides.");
  expect(read(old)).toContain("<b>Bold</b> <img src=x onerror=alert(1)>");
  expect(old.querySelectorAll("img, b, i")).toHaveLength(0);
});

test("one registry is searched when it is chosen", { tags: ["REG-02", "REG-05"] }, async () => {
  const { person, ask } = await openFinder();
  ask("jetty");
  await found("Jetty <i>old</i>");
  await person.click(screen.getByRole("combobox", { name: "Where to search" }));
  await person.click(await screen.findByRole("option", { name: "Smithery" }));
  const said = within(screen.getByRole("dialog")).getAllByRole("status")[0] as HTMLElement;
  await waitFor(() => expect(read(said)).toBe("Nothing found for “jetty”."));
  ask("mooring");
  const mooring = read(await found("Mooring"));
  for (const words of ["Smithery", "12.4K uses", "verified"]) expect(mooring).toContain(words);
  ask("tide");
  await waitFor(() => expect(read(said)).toBe("Nothing found for “tide”."));
});
