/** The beginning and end of every component test. The document has no layout, so sizes are made up here. */
import { format } from "node:util";
import { cleanup, configure } from "@testing-library/react";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { leavePage } from "./page";
import { forget } from "./server";

/** The size of every element. */
const [WIDTH, HEIGHT] = [800, 600];

/** The time of everything in the recordings; the tests run an hour later. */
export const RECORDED_AT = Date.UTC(2026, 0, 15, 12);

// A busy machine is slow. `scripts/mutants` waits less for what its changes keep from coming.
configure({ asyncUtilTimeout: Number(process.env.WAIT_MS ?? 20_000) });

// Browser features that the document lacks.
globalThis.isSecureContext = true;
Object.assign(document, { fonts: new EventTarget() });
// There are no stylesheets. To compute styles all the same would take most of a test's time.
window.getComputedStyle = (element) => (element as HTMLElement).style;
globalThis.ResizeObserver = class implements ResizeObserver {
  constructor(private readonly callback: ResizeObserverCallback) {}
  observe(target: Element): void {
    const contentRect = new DOMRect(0, 0, WIDTH, HEIGHT);
    const entry = { target, contentRect, borderBoxSize: [], contentBoxSize: [], devicePixelContentBoxSize: [] };
    this.callback([entry], this);
  }
  unobserve(): void {}
  disconnect(): void {}
};

// Everything is in view.
globalThis.IntersectionObserver = class {
  readonly root = null;
  readonly rootMargin = "";
  readonly scrollMargin = "";
  readonly thresholds = [];
  constructor(private readonly callback: IntersectionObserverCallback) {}
  observe(target: Element): void {
    const entry = { target, isIntersecting: true } as IntersectionObserverEntry;
    this.callback([entry], this as unknown as IntersectionObserver);
  }
  unobserve(): void {}
  disconnect(): void {}
  takeRecords(): IntersectionObserverEntry[] {
    return [];
  }
} as unknown as typeof IntersectionObserver;

const intervals: ReturnType<typeof setInterval>[] = [];
const setAnyInterval = globalThis.setInterval;
globalThis.setInterval = ((...given: Parameters<typeof setInterval>) => {
  const made = setAnyInterval(...given);
  intervals.push(made);
  return made;
}) as typeof setInterval;

/** What was written to the console as an error or a warning: React's complaints are there. */
const complaints: string[] = [];
for (const level of ["error", "warn"] as const) console[level] = (...given: unknown[]) => void complaints.push(`${level}: ${format(...given)}`);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: RECORDED_AT + 3_600_000 });
  localStorage.clear();
  sessionStorage.clear();
});

afterEach(() => {
  cleanup();
  leavePage();
  for (const interval of intervals.splice(0)) clearInterval(interval);
  vi.useRealTimers();
  const unanswered = forget();
  expect({ unanswered, complaints: complaints.splice(0) }).toEqual({ unanswered: [], complaints: [] });
});
