import { describe, expect, test } from "vitest";
import type { ConfigView, Profile, Setting } from "../src/api/types";
import { partsOf, patchAt, valueAt } from "../src/settings/Described";
import { neighbour, newProfile, profileId, withoutProfile, withProfile } from "../src/settings/profiles";
import { refreshNews } from "../src/settings/useCatalogue";
import { currentModelName } from "../src/shell/ModelSelector";
import type { AppState } from "../src/store/store";

const profile = (id: string): Profile => ({ ...newProfile(), id, name: id });
const config = (ids: string[], activeProfile: string | null = null) =>
  ({ profiles: ids.map(profile), activeProfile }) as ConfigView;

describe("profiles", () => {
  test("a new one gets an id of its name that nobody has", () => {
    expect(profileId("  Careful Reviewer! ", [])).toBe("careful-reviewer");
    expect(profileId("A", ["a", "a-2"])).toBe("a-3");
    expect(profileId("日本", [])).toBe("profile");
  });

  test("a new one goes to the end, an edited one stays in its place", () => {
    const added = withProfile(config(["a"]), { ...newProfile(), name: "B" });
    expect(added.profiles?.map(({ id }) => id)).toEqual(["a", "b"]);
    const edited = withProfile(config(["a", "b"]), { ...profile("a"), name: "Other" });
    expect(edited.profiles?.map(({ name }) => name)).toEqual(["Other", "b"]);
  });

  test("deleting the active one leaves none active, deleting another leaves it", () => {
    expect(withoutProfile(config(["a", "b"], "a"), "a")).toMatchObject({ activeProfile: null });
    expect(withoutProfile(config(["a", "b"], "a"), "b")).not.toHaveProperty("activeProfile");
  });

  test("after a deletion the next is selected, at the end the one before", () => {
    const { profiles } = config(["a", "b"]);
    expect([neighbour(profiles, "a"), neighbour(profiles, "b"), neighbour([profile("a")], "a")]).toEqual(["b", "a", null]);
  });
});

test("a model that is in no list is called by its id, a script by its file", () => {
  const state = (modelId: string | null, defaultModelId: string | null = null) =>
    ({
      models: { models: [{ id: "m", name: "Model M" }], defaultModelId },
      open: { conversation: { settings: { modelId } } },
    }) as unknown as AppState;
  expect(currentModelName(state("m"))).toBe("Model M");
  expect(currentModelName(state(null, "m"))).toBe("Model M");
  expect(currentModelName(state("scripted:/srv/scripts/demo.json"))).toBe("scripted:demo.json");
  expect(currentModelName(state("gone"))).toBe("gone");
  expect(currentModelName(state(null))).toBe("No model");
});

test("a refresh tells how much is offered, and who did not answer", () => {
  const entries = ["m1", "m2"].map((model) => ({ provider: "ollama", baseUrl: "http://127.0.0.1:1", model }));
  expect(refreshNews({ refreshedAt: 1, entries, problems: ["x is away."] })).toEqual([
    "2 models offered by 1 provider.",
    "x is away.",
  ]);
});

describe("a setting that the server describes", () => {
  const about = (fields: Partial<Setting>): Setting => ({
    tab: "general",
    part: "Limits",
    label: "A number",
    note: "",
    usual: "",
    text: "",
    what: "",
    unit: "",
    least: null,
    most: null,
    refusal: "",
    choices: {},
    ...fields,
  });

  test("is found and changed by its place", () => {
    const now = { runsAtOnce: 3, retention: { days: null, megabytes: 5 } } as unknown as ConfigView;
    expect([valueAt(now, "runsAtOnce"), valueAt(now, "retention.days"), valueAt(now, "retention.megabytes")]).toEqual([3, null, 5]);
    expect(patchAt("runsAtOnce", null)).toEqual({ runsAtOnce: null });
    expect(patchAt("retention.days", 9)).toEqual({ retention: { days: 9 } });
  });

  test("stands under its heading, on its tab, in the order in which it was told", () => {
    const told = { a: about({ part: "B" }), b: about({}), c: about({ part: "B" }), d: about({ tab: "mcp" }) };
    const parts = partsOf({ about: told } as unknown as ConfigView, "general");
    expect([...parts].map(([part, settings]) => [part, settings.map(([place]) => place)])).toEqual([
      ["B", ["a", "c"]],
      ["Limits", ["b"]],
    ]);
  });
});
