import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { ModelView } from "../api/types";
import { check, noPrices, toInput, type ModelDraft } from "./modelDraft";

/** How long a name may still be in the middle of being typed. */
const pause = 350;

/** Return what is known about the model that a form names; null while that is nothing. */
export function useAbout(draft: ModelDraft): ModelView | null {
  const [about, setAbout] = useState<ModelView | null>(null);
  // What is said of it makes no difference to what is known.
  const named = { ...draft, contextWindow: "", maxTokens: "", supportsThinking: null, supportsImages: "auto", prices: noPrices } as const;
  const { name: _name, ...input } = toInput({ ...named, key: "keep", apiKey: "" });
  const asked = check(draft).model || check(draft).baseUrl ? "" : JSON.stringify(input);
  useEffect(() => {
    let isCurrent = true;
    const wait = setTimeout(() => {
      if (!asked) return setAbout(null);
      // A help only: without it everything can be typed.
      const told = api.aboutModel({ ...(JSON.parse(asked) as typeof input), name: "About" }).catch(() => null);
      void told.then((view) => isCurrent && setAbout(view));
    }, pause);
    return () => {
      isCurrent = false;
      clearTimeout(wait);
    };
  }, [asked]);
  return about;
}

/** Return what is known in one line: "200K context, thinks, takes images, from … of 2026-11-10". */
export function knownLine(about: ModelView | null): string {
  if (!about?.factsFrom) return "";
  const can = [about.supportsThinking && "thinks", about.supportsImages && "takes images"];
  const facts = [about.contextLabel, ...can, about.priceLabel];
  return `${facts.filter(Boolean).join(", ")}, from ${about.factsFrom}`;
}
