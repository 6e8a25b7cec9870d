import { screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import calls from "../recorded/calls.json";
import { openPage, read } from "../support/page";
import { Answer } from "../support/server";

const [message] = calls["GET /api/state?conversation=c_3"].snapshot.items;
const PART = `GET /api/items/${message?.id}/parts/0`;

/** Return the first bytes of a PNG that says it has this many pixels on each side. */
function aPng(side: number): Blob {
  const bytes = new Uint8Array(64);
  bytes.set([0x89, ...new TextEncoder().encode("PNG\r\n\x1a\n")]);
  bytes.set(new TextEncoder().encode("IHDR"), 12);
  for (const at of [16, 20]) new DataView(bytes.buffer).setUint32(at, side);
  return new Blob([bytes], { type: "image/png" });
}

const row = () => document.querySelector("[data-kind=user_message]") as Element;

test("a picture that was attached is shown by its name", async () => {
  await openPage("/c/c_3", calls, { [PART]: new Answer(200, aPng(64)) });
  const image = await screen.findByRole("img", { name: "harbour.png" });
  expect(image.getAttribute("src")).toMatch(/^blob:/);
});

test("what was kept as a picture and is too large to be drawn is told of", { tags: ["UI-07"] }, async () => {
  await openPage("/c/c_3", calls, { [PART]: new Answer(200, aPng(50_000)) });
  await waitFor(() => expect(read(row())).toContain("An image that cannot be shown."));
  expect(row().querySelector("img")).toBeNull();
});

test("a picture that cannot be fetched is told of", async () => {
  await openPage("/c/c_3", calls, { [PART]: new Answer(404, { code: "not_found", message: "Gone.", fix: "" }) });
  await waitFor(() => expect(read(row())).toContain("The image could not be fetched."));
});
