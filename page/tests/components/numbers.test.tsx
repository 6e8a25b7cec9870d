import { screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import config from "../recorded/config.json";
import { openPage } from "../support/page";
import { server } from "../support/server";

// What else the settings show.
const BESIDE = {
  "GET /api/meaning": { state: "words", model: "", message: "", done: 0, waiting: 0 },
  "GET /api/traffic": { messages: [], lastSeq: 0, recording: false },
};
const openSettings = () => openPage("/settings/general", config, BESIDE);
const atOnce = () => screen.findByRole<HTMLInputElement>("textbox", { name: "Answers at once" });
const sent = () => server.requests("PATCH /api/config").map(({ body }) => body);

test("a number that is taken back is the usual one again, and a wrong one is told", async () => {
  const person = await openSettings();
  const field = await atOnce();
  expect(field.value).toBe("256");
  await person.clear(field);
  await person.type(field, "0{Enter}");
  await screen.findByText("How many answers are got at once is a number from 1 to 1,000.");
  await person.clear(field);
  await person.type(field, "7{Enter}");
  await waitFor(() => expect(sent()).toHaveLength(2));
  await person.clear(field);
  await person.type(field, "{Enter}");
  await waitFor(() => expect(field.value).toBe("256"));
  // Nothing is what takes it back.
  expect(sent()).toEqual([{ runsAtOnce: 0 }, { runsAtOnce: 7 }, { runsAtOnce: null }]);
});

test("what is typed while a number is being kept stays", async () => {
  const person = await openSettings();
  const release = server.holdAnswers("PATCH /api/config");
  const field = await atOnce();
  await person.clear(field);
  await person.type(field, "7{Enter}");
  await person.clear(field);
  await person.type(field, "9");
  release();
  await waitFor(() => expect(sent()).toEqual([{ runsAtOnce: 7 }]));
  expect(field.value).toBe("9");
  await person.type(field, "{Enter}");
  await waitFor(() => expect(sent()).toEqual([{ runsAtOnce: 7 }, { runsAtOnce: 9 }]));
  expect(field.value).toBe("9");
});
