import { screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import start from "../recorded/start.json";
import { openPage } from "../support/page";
import { Answer, server } from "../support/server";

// What else the settings show.
const BESIDE = {
  "GET /api/meaning": { state: "words", model: "", message: "", done: 0, waiting: 0 },
  "GET /api/traffic": { messages: [], lastSeq: 0, recording: false },
};
const USUAL = 256;
const atOnce = () => screen.findByRole<HTMLInputElement>("textbox", { name: "Answers at once" });
const refused = { code: "bad_request", message: "How many answers are got at once is a number from 1 to 1,000.", fix: "" };

/** Let the server keep how many answers are got at once, as the real one does; return what it keeps. */
function keeping() {
  const kept = { runsAtOnce: USUAL };
  server.answers("GET /api/config", () => ({ ...start["GET /api/config"], ...kept }));
  server.answers("PATCH /api/config", ({ body: { runsAtOnce } }: { body: { runsAtOnce: number | null } }) => {
    if (runsAtOnce === 0) return new Answer(400, refused);
    kept.runsAtOnce = runsAtOnce ?? USUAL;
    return { ...start["GET /api/config"], ...kept };
  });
  return kept;
}

const sent = () => server.requests("PATCH /api/config").map(({ body }) => (body as { runsAtOnce: number | null }).runsAtOnce);

test("a number that is taken back is the usual one again, and a wrong one is told", async () => {
  const person = await openPage("/settings/general", BESIDE);
  const kept = keeping();
  const field = await atOnce();
  expect(field.value).toBe("256");
  await person.clear(field);
  await person.type(field, "0{Enter}");
  await screen.findByText(refused.message);
  await person.clear(field);
  await person.type(field, "7{Enter}");
  await waitFor(() => expect(kept.runsAtOnce).toBe(7));
  for (let time = 0; time < 2; time++) {
    await person.clear(field);
    await person.type(field, "{Enter}");
    await waitFor(() => expect(field.value).toBe("256"));
  }
  // Nothing is what takes it back.
  expect(sent().slice(0, 3)).toEqual([0, 7, null]);
  expect(kept.runsAtOnce).toBe(USUAL);
});

test("what is typed while a number is being kept stays", async () => {
  const person = await openPage("/settings/general", BESIDE);
  const kept = keeping();
  let letGo = () => {};
  const until = new Promise<void>((resolve) => (letGo = resolve));
  server.answers("PATCH /api/config", async ({ body }: { body: { runsAtOnce: number } }) => {
    await until;
    Object.assign(kept, body);
    return { ...start["GET /api/config"], ...kept };
  });
  const field = await atOnce();
  expect(field.value).toBe("256");
  await person.clear(field);
  await person.type(field, "7{Enter}");
  await person.clear(field);
  await person.type(field, "9");
  letGo();
  await waitFor(() => expect(kept.runsAtOnce).toBe(7));
  expect(field.value).toBe("9");
  await person.type(field, "{Enter}");
  await waitFor(() => expect(kept.runsAtOnce).toBe(9));
  expect(field.value).toBe("9");
});
