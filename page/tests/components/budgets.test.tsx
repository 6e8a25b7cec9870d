import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import budget from "../recorded/budget.json";
import config from "../recorded/config.json";
import summaries from "../recorded/summary_budget.json";
import { openPage, read } from "../support/page";
import { server, type Recording } from "../support/server";

const field = () => screen.findByRole<HTMLInputElement>("textbox", { name: "Dollars for one message" });
// An answered question stays in the conversation, with its answer; the one that waits has the keys.
const question = async () => (await screen.findByRole("button", { name: "Go on" })).closest("section") as HTMLElement;
const answered = (answer: string) => screen.findByText(new RegExp(`You answered: ${answer}`));
const summary = () => screen.queryByRole("button", { name: /^Older turns summed up/ });
const main = () => read(screen.getByRole("main"));
const stopped = "Stopped, as you said: the next request could have passed the budget.";

/** Show the open conversation as it was recorded after a step. */
async function showStep(recording: Recording, step: string): Promise<void> {
  server.answers("GET /api/conversations/c_1", recording[`GET /api/conversations/c_1 ${step}`]);
  await server.says({ op: "lagged", conversationId: "c_1" });
}

test("budgets are set in dollars and cents and taken back", async () => {
  const person = await openPage("/settings/usage", config);
  const dollars = await field();
  expect([dollars.value, dollars.placeholder]).toEqual(["", "No budget"]);
  await person.type(dollars, "0.25{Enter}");
  await waitFor(() => expect(dollars.value).toBe("$0.25"));
  await person.clear(dollars);
  await person.type(dollars, "2000000{Enter}");
  await screen.findByText("The budget for one message, in dollars, is a number from 0 to 1,000,000.");
  await person.clear(dollars);
  await person.type(dollars, "{Enter}");
  await waitFor(() => expect(dollars.value).toBe(""));
  const sent = server.requests("PATCH /api/config").map(({ body }) => body);
  expect(sent).toEqual([{ budgetPerRun: 0.25 }, { budgetPerRun: 2_000_000 }, { budgetPerRun: null }]);
});

test("at a budget the question leads to where it is set", async () => {
  const person = await openPage("/c/c_1", budget);
  const asked = await question();
  expect(read(asked)).toContain("The budget for one message is $0.08: $0.032 so far");
  expect(read(asked)).toContain("Go on, with a budget of $0.16?");
  await person.click(within(asked).getByRole("link", { name: "Change the budgets" }));
  await waitFor(async () => expect((await field()).value).toBe("$0.08"));
});

test("at a budget the person lets the answer go on", { tags: ["TMO-13"] }, async () => {
  const person = await openPage("/c/c_1", budget);
  await person.click(within(await question()).getByRole("button", { name: "Go on" }));
  expect(server.requests("POST /api/questions/i_4/answer").map(({ body }) => body)).toEqual([{ choice: "continue" }]);
  await showStep(budget, "that went on");
  await answered("Go on");
  await screen.findByText("Done.");
  expect(screen.queryByRole("button", { name: "Go on" })).toBeNull();
});

test("what was stopped at a budget says so", async () => {
  await openPage("/c/c_2", budget);
  await screen.findByText(stopped);
  expect(main()).not.toContain("Done.");
});

test("a summary that is asked for asks at a budget, too", async () => {
  const person = await openPage("/c/c_1", summaries);
  const box = await screen.findByRole("textbox", { name: "Message" });
  await person.type(box, "/compact{Enter}");
  await showStep(summaries, "asked before it was declined");
  expect(read(await question())).toContain("The budget for one message is $0.001: nothing was used so far");
  await person.click(within(await question()).getByRole("button", { name: "Stop here" }));
  await showStep(summaries, "declined");
  await answered("Stop here");
  await screen.findByText(stopped);
  expect(summary()).toBeNull();
  await person.type(box, "/compact{Enter}");
  await showStep(summaries, "asked before it was summed up");
  await person.click(within(await question()).getByRole("button", { name: "Go on" }));
  await showStep(summaries, "summed up");
  await waitFor(() => expect(summary()).toBeTruthy());
  await answered("Go on");
  const answers = server.requested.filter(({ path }) => path.endsWith("/answer")).map(({ body }) => body);
  expect(answers).toEqual([{ choice: "stop" }, { choice: "continue" }]);
});
