import { waitFor } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { CallLine, CallTime } from "../../src/calls/CallLine";
import { CodeBlock } from "../../src/markdown/CodeBlock";
import { hostNow } from "../../src/store/clock";
import { aCall } from "../records";
import { draw, read } from "../support/page";

const running = (data: object = {}) =>
  aCall({ serverTool: "harbour.tides", server: "harbour", phase: "executing", phases: { executing: hostNow() / 1000 }, ...data });

test("the line of a running call names the tool and its arguments", { tags: ["TCL-13"] }, () => {
  draw(<CallLine item={running({ arguments: { port: "Bergen", days: 3 } })} />);
  const line = read(document.body);
  expect(line).toContain("Using harbour.tides...");
  expect(line).toContain("port: Bergen, days: 3");
  expect(line).toContain("Executing...");
});

test("the time of a running call is shown and counts", { tags: ["TCL-05", "PRF-06"] }, async () => {
  draw(<CallTime item={running()} />);
  expect(read(document.body)).toBe("0.0 s");
  vi.setSystemTime(Date.now() + 7_000);
  await waitFor(() => expect(read(document.body)).toBe("7.0 s"));
});

test("what is copied of a block of code is exactly what is shown", { tags: ["UI-12"] }, async () => {
  const code = "ls -l\n\techo \u201chi\u201d  ";
  const person = draw(<CodeBlock language="" code={code} isOpen={false} />);
  expect(document.querySelector("pre")?.textContent).toBe(code);
  await person.click(document.querySelector("button") as Element);
  expect(await navigator.clipboard.readText()).toBe(code);
});
