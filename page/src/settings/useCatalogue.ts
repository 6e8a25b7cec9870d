import { useEffect, useState } from "react";
import { api, errorText } from "../api/client";
import type { Catalogue } from "../api/types";

export interface CatalogueState {
  catalogue: Catalogue | null;
  isRefreshing: boolean;
  /** What the last refresh gave, a sentence each; empty before the first. */
  news: readonly string[];
  refresh: () => void;
}

const count = (number: number, one: string) => `${number} ${one}${number === 1 ? "" : "s"}`;

/** Return what a refresh gave, and who did not answer, in words. */
export function refreshNews(catalogue: Catalogue): string[] {
  const places = new Set(catalogue.entries.map((entry) => `${entry.provider} ${entry.baseUrl}`)).size;
  const told = places
    ? `${count(catalogue.entries.length, "model")} offered by ${count(places, "provider")}.`
    : "No configured provider offers a list.";
  return [told, ...catalogue.problems];
}

/** The lists of what the providers offer, and how to ask for them anew. */
export function useCatalogue(): CatalogueState {
  const [catalogue, setCatalogue] = useState<Catalogue | null>(null);
  const [isRefreshing, setRefreshing] = useState(false);
  const [news, setNews] = useState<readonly string[]>([]);
  useEffect(() => {
    let isCurrent = true;
    // Suggestions are a help; without them every name can still be typed.
    api.catalogue().then((kept) => isCurrent && setCatalogue((now) => now ?? kept), () => undefined);
    return () => {
      isCurrent = false;
    };
  }, []);
  const refresh = () => {
    setRefreshing(true);
    setNews([]);
    api
      .refreshCatalogue()
      .then((fresh) => {
        setCatalogue(fresh);
        setNews(refreshNews(fresh));
      })
      .catch((error: unknown) => setNews([errorText(error)]))
      .finally(() => setRefreshing(false));
  };
  return { catalogue, isRefreshing, news, refresh };
}
