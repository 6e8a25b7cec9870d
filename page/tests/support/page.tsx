/** The page, or a part of it, drawn without a browser from what the real server has said. */
import { MantineProvider } from "@mantine/core";
import { Notifications, notifications } from "@mantine/notifications";
import { act, render, screen } from "@testing-library/react";
import userEvent, { type UserEvent } from "@testing-library/user-event";
import type { ReactNode } from "react";
import { vi } from "vitest";
// Imported before the first test: importing takes longer than a test may.
import "../../src/shell/App";
import { theme } from "../../src/theme/theme";
import start from "../recorded/start.json";
import { isRefusal, serve, type Recording } from "./server";

/** Draw a part of the page as the page itself does. */
export function draw(part: ReactNode): UserEvent {
  render(
    <MantineProvider theme={theme} env="test" withCssVariables={false} withGlobalClasses={false}>
      <Notifications />
      {part}
    </MantineProvider>,
  );
  return userEvent.setup();
}

/** Return a recording with what recordings leave out: the settings, and each conversation as an answer of its own. */
function withDefaults(recording: Recording): Recording {
  const whole: Recording = { ...recording };
  for (const [request, said] of Object.entries(recording)) {
    if (request.startsWith("PATCH /api/config") && !isRefusal(said)) whole[request] = { ...start["GET /api/config"], ...(said as object) };
    const [, id] = /^GET \/api\/state(?:\?conversation=(.*))?$/.exec(request) ?? [null, null];
    if (id === null) continue;
    const state = { ...start["GET /api/state"], ...(said as object) };
    whole[request] = state;
    whole["GET /api/state"] ??= { ...state, snapshot: null };
    if (id) whole[`GET /api/conversations/${id}`] ??= state.snapshot;
  }
  return whole;
}

let leave = () => {};

/** Open the whole page at an address; the server answers from these recordings. Return the person who uses the page. */
export async function openPage(path: string, ...recordings: Recording[]): Promise<UserEvent> {
  history.replaceState(null, "", path);
  serve([start, ...recordings].map(withDefaults));
  // The page keeps state in its modules: import them anew, as a new tab does.
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
