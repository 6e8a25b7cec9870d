import { afterEach, beforeEach, expect, it, vi } from "vitest";

const CASES = Array.from({ length: 200 }, (_, number) => number);

beforeEach(() => {
  vi.resetModules();
  vi.spyOn(console, "info").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** Return who chooses in a run with this seed. */
async function choosing(seed: string, long = "") {
  vi.stubEnv("SAMPLE_SEED", seed);
  vi.stubEnv("TEST_LONG", long);
  vi.resetModules();
  return (await import("./sampling")).chosen;
}

it("a share is chosen, in order, and a seed repeats it", async () => {
  const chosen = await choosing("5");
  const first = chosen(CASES, "one");
  expect([20, 21]).toContain(first.length);
  expect(first).toEqual([...first].sort((one, other) => one - other));
  expect((await choosing("5"))(CASES, "one")).toEqual(first);
  expect(chosen(CASES, "two")).not.toEqual(first);
  expect((await choosing("6"))(CASES, "one")).not.toEqual(first);
  expect(vi.mocked(console.info).mock.calls.flat().join()).toContain("SAMPLE_SEED=5");
});

it("every case has its turn, and a long run has all", async () => {
  const seen = new Set<number>();
  for (let seed = 0; seed < 100; seed += 1) for (const one of (await choosing(String(seed)))(CASES, "one")) seen.add(one);
  expect(seen.size).toBe(CASES.length);
  expect((await choosing("5"))([1, 2, 3], "few").length).toBeGreaterThan(0);
  expect((await choosing("5", "1"))(CASES, "one")).toEqual(CASES);
});
