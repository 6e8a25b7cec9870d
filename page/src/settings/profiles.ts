import type { ConfigPatch, ConfigView, Profile } from "../api/types";
import { noSettings } from "../store/store";

/** Return an id for a new profile: its name in plain letters, with a number when that is taken. */
export function profileId(name: string, taken: readonly string[]): string {
  const base = name.trim().toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "profile";
  let id = base;
  for (let number = 2; taken.includes(id); number += 1) id = `${base}-${number}`;
  return id;
}

/** Return a profile that sets nothing yet. */
export function newProfile(): Profile {
  return { id: "", name: "", settings: noSettings };
}

/** Return the change that puts a profile in its place, or at the end when it is new. */
export function withProfile(config: ConfigView, profile: Profile): ConfigPatch {
  if (profile.id) {
    return { profiles: config.profiles.map((other) => (other.id === profile.id ? profile : other)) };
  }
  const id = profileId(profile.name, config.profiles.map((other) => other.id));
  return { profiles: [...config.profiles, { ...profile, id }] };
}

/** Return the change that takes a profile out; an active one is active no longer. */
export function withoutProfile(config: ConfigView, id: string): ConfigPatch {
  const profiles = config.profiles.filter((profile) => profile.id !== id);
  return config.activeProfile === id ? { profiles, activeProfile: null } : { profiles };
}

/** Return which profile to select once one is gone: the next, else the one before. */
export function neighbour(profiles: readonly Profile[], id: string): string | null {
  const at = profiles.findIndex((profile) => profile.id === id);
  return (profiles[at + 1] ?? profiles[at - 1])?.id ?? null;
}
