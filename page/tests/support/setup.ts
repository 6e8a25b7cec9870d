/** What every component test begins and ends with; the document it runs in draws nothing, so sizes are made up here. */
import { cleanup, configure } from "@testing-library/react";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { leavePage } from "./page";
import { forget } from "./server";

/** How large everything is. */
const [WIDTH, HEIGHT] = [800, 600];

/** When everything recorded happened; the tests' own time is an hour later. */
export const RECORDED_AT = Date.UTC(2026, 0, 15, 12);

// A machine that has much else to do is slow.
configure({ asyncUtilTimeout: 20_000 });

// What the document lacks of a browser's.
globalThis.isSecureContext = true;
Object.assign(document, { fonts: new EventTarget() });
// No stylesheet is read, and to ask for each element what they say takes most of the time.
window.getComputedStyle = (element) => (element as HTMLElement).style;
globalThis.ResizeObserver = class implements ResizeObserver {
  constructor(private readonly told: ResizeObserverCallback) {}
  observe(target: Element): void {
    const contentRect = new DOMRect(0, 0, WIDTH, HEIGHT);
    const entry = { target, contentRect, borderBoxSize: [], contentBoxSize: [], devicePixelContentBoxSize: [] };
    this.told([entry], this);
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
  constructor(private readonly told: IntersectionObserverCallback) {}
  observe(target: Element): void {
    const entry = { target, isIntersecting: true } as IntersectionObserverEntry;
    this.told([entry], this as unknown as IntersectionObserver);
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
  expect(forget(), "requests that nothing was recorded for").toEqual([]);
});
