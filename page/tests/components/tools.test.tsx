import { screen, waitFor, within } from "@testing-library/react";
import { expect, test } from "vitest";
import type { ServerTool } from "../../src/api/types";
import { TryTool } from "../../src/servers/TryTool";
import { draw, read } from "../support/page";
import { serve, server } from "../support/server";

const inputSchema = {
  type: "object",
  properties: { port: { type: "string", title: "Port" }, days: { type: "integer", title: "Days" } },
  required: ["port"],
};
const tool = { serverId: "s_1", name: "tides", qualifiedName: "harbour.tides", inputSchema } as unknown as ServerTool;

test("a form is made from the schema of a tool, and the tool is tried with it", { tags: ["AGT-07"] }, async () => {
  serve([{ "POST /api/tools/try": { ok: true, text: "High at noon.", content: [], structured: null, elapsedMs: 12, needsSignIn: false } }]);
  const person = draw(<TryTool tool={tool} />);
  await person.click(screen.getByRole("button", { name: "Try it" }));
  const form = screen.getByRole("region", { name: "Try harbour.tides" });
  await person.type(within(form).getByRole("textbox", { name: /^Port/ }), "Bergen");
  await person.type(within(form).getByRole("textbox", { name: /^Days/ }), "3");
  await person.click(within(form).getByRole("button", { name: "Run" }));
  await waitFor(() => expect(read(form)).toContain("High at noon."));
  const sent = server.requests("POST /api/tools/try").map(({ body }) => body);
  expect(sent).toEqual([{ serverId: "s_1", tool: "tides", arguments: { port: "Bergen", days: 3 } }]);
});
