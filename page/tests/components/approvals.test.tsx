import { screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import approvals from "../recorded/approvals.json";
import { openPage, read } from "../support/page";

const card = () => screen.findByRole("region", { name: "Approval" });

/** Open a conversation in which a call waits for an approval; return its card with the details, and what it says of its paths. */
async function openDetails(path: string): Promise<[HTMLElement, string]> {
  const person = await openPage(path, approvals);
  const asked = await card();
  await person.click(within(asked).getByRole("button", { name: "Details" }));
  return [asked, read(await within(asked).findByRole("list", { name: "Paths" }))];
}

const heading = (asked: HTMLElement) => read(within(asked).getByRole("heading"));

test("a folder says that everything in it goes along", { tags: ["AUTHZ-10"] }, async () => {
  const [asked, paths] = await openDetails("/c/c_1");
  expect(heading(asked)).toMatch(/with everything in it$/);
  expect(paths).toBe("writessrcinside the working directorywith everything in it");
});

test("a file says nothing of what is in it", { tags: ["AUTHZ-10"] }, async () => {
  const [asked, paths] = await openDetails("/c/c_2");
  expect(paths).toBe("writessrc/tides.pyinside the working directory");
  expect(read(asked)).not.toContain("with everything in it");
});

test("what is typed at an open terminal says so", { tags: ["AUTHZ-10"] }, async () => {
  await openPage("/c/c_3", approvals);
  const asked = await card();
  expect(heading(asked)).toContain("Allow this to be typed at an open terminal?");
  expect(heading(asked)).toContain("what was typed there before may change what it does");
  expect(read(within(asked).getByLabelText("Command"))).toContain("make clean");
});
