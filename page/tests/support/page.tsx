/** The page, or a part of it, drawn without a browser from what the real server has said. */
import { MantineProvider } from "@mantine/core";
import { Notifications, notifications } from "@mantine/notifications";
import { act, render, screen } from "@testing-library/react";
import userEvent, { type UserEvent } from "@testing-library/user-event";
import type { ReactNode } from "react";
import { vi } from "vitest";
// Read once before any test, which takes longer than a test may.
import "../../src/shell/App";
import { theme } from "../../src/theme/theme";
import unused from "../recorded/start.json";
import { serve, type Recording } from "./server";

/** Draw a part of the page, as the page itself would. */
export function draw(part: ReactNode): UserEvent {
  render(
    <MantineProvider theme={theme} env="test" withCssVariables={false} withGlobalClasses={false}>
      <Notifications />
      {part}
    </MantineProvider>,
  );
  return userEvent.setup();
}

const settings = unused["GET /api/state"];

/** Return a recording with what is the same in all of them, and with what the page reads of a conversation alone. */
function completed(recording: Recording): Recording {
  const whole: Recording = { ...recording };
  for (const [request, said] of Object.entries(recording)) {
    const [, id] = /^GET \/api\/state(?:\?conversation=(.*))?$/.exec(request) ?? [null, null];
    if (id === null) continue;
    const state = { ...settings, ...(said as object) };
    whole[request] = state;
    whole["GET /api/state"] ??= { ...state, snapshot: null };
    if (id) whole[`GET /api/conversations/${id}`] ??= state.snapshot;
  }
  return whole;
}

let leave = () => {};

/** Open the whole page at an address, in a tab of its own; the server answers from these recordings. Returns the person who uses it. */
export async function openPage(path: string, ...recordings: Recording[]): Promise<UserEvent> {
  history.replaceState(null, "", path);
  serve([unused, ...recordings].map(completed));
  // The page keeps much in its modules; a tab begins with new ones.
  vi.resetModules();
  const [{ App }, session] = await Promise.all([import("../../src/shell/App"), import("../../src/store/session")]);
  leave = session.hangUp;
  const person = draw(<App />);
  await act(() => session.start());
  await screen.findByRole("main");
  return person;
}

/** Close the tab. */
export function leavePage(): void {
  leave();
  leave = () => {};
  notifications.clean();
}

/** Return the text of an element with single spaces, as a person reads it. */
export const read = (element: Element) => (element.textContent ?? "").replace(/\s+/g, " ").trim();
