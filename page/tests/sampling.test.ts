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

/** Return `sample` as it is in a run with this seed. */
async function seeded(seed: string, long = "") {
  vi.stubEnv("SAMPLE_SEED", seed);
  vi.stubEnv("TEST_LONG", long);
  vi.resetModules();
  return (await import("./sampling")).sample;
}

it("a share is taken, in order, and a seed repeats it", async () => {
  const sample = await seeded("5");
  const first = sample(CASES, "one");
  expect([20, 21]).toContain(first.length);
  expect(first).toEqual([...first].sort((one, other) => one - other));
  expect((await seeded("5"))(CASES, "one")).toEqual(first);
  expect(sample(CASES, "two")).not.toEqual(first);
  expect((await seeded("6"))(CASES, "one")).not.toEqual(first);
  expect(vi.mocked(console.info).mock.calls.flat().join()).toContain("SAMPLE_SEED=5");
});

it("every case has its turn, and a long run has all", async () => {
  const seen = new Set<number>();
  for (let seed = 0; seed < 100; seed += 1) for (const one of (await seeded(String(seed)))(CASES, "one")) seen.add(one);
  expect(seen.size).toBe(CASES.length);
  expect((await seeded("5"))([1, 2, 3], "few").length).toBeGreaterThan(0);
  expect((await seeded("5", "1"))(CASES, "one")).toEqual(CASES);
});
