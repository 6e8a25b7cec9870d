import { waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import { changeTopic } from "../../src/topics/actions";
import { Answer, serve, server } from "../support/server";

const topic = { id: "t_1", name: "Garden", description: "", conversations: 0, createdAt: 0, updatedAt: 0 };
const sent = () => server.requests("PATCH /api/topics/t_1").map(({ body }) => body);

test("changes of a topic are sent in their order, each when the one before was answered", async () => {
  serve([{ "PATCH /api/topics/t_1": topic }]);
  const release = server.holdAnswers("PATCH /api/topics/t_1");
  const described = changeTopic("t_1", { description: "All that grows." });
  const named = changeTopic("t_1", { name: "Yard" });
  await waitFor(() => expect(sent()).toHaveLength(1));
  release();
  await Promise.all([described, named]);
  expect(sent()).toEqual([{ description: "All that grows." }, { name: "Yard" }]);
});

test("a change of a topic is sent after one that was refused", async () => {
  serve([{ "PATCH /api/topics/t_1": topic }]);
  const refused = { code: "bad_request", message: "A topic needs a name.", fix: "" };
  server.answers('PATCH /api/topics/t_1 {"name":" "}', new Answer(400, refused));
  const unnamed = expect(changeTopic("t_1", { name: " " })).rejects.toThrow(refused.message);
  await changeTopic("t_1", { name: "Yard" });
  await unnamed;
  expect(sent()).toEqual([{ name: " " }, { name: "Yard" }]);
});
