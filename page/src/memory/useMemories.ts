import { useCallback, useEffect, useState } from "react";
import { errorText } from "../api/client";
import { memories, type MemoryCollections, type MemoryMatch, type Wanted } from "./memories";

export interface Found {
  matches: readonly MemoryMatch[] | null;
  collections: MemoryCollections | null;
  problem: string;
  /** Look again: something was changed. */
  reload: () => void;
}

/** A pause in typing after which a search begins. */
const PAUSE_MS = 200;

/** The memories that are wanted, and how many there are where. */
export function useMemories(query: string, wanted: Wanted): Found {
  const [matches, setMatches] = useState<readonly MemoryMatch[] | null>(null);
  const [collections, setCollections] = useState<MemoryCollections | null>(null);
  const [problem, setProblem] = useState("");
  const [round, setRound] = useState(0);
  const { scope, forgotten } = wanted;
  const kind = scope?.kind ?? null;
  const id = scope?.id ?? "";
  useEffect(() => {
    const stop = new AbortController();
    const asked: Wanted = { scope: kind && { kind, id }, forgotten };
    const look = async () => {
      const found = query.trim()
        ? (await memories.search(query, asked, stop.signal)).matches
        : (await memories.list(asked, stop.signal)).memories.map((memory) => ({ memory, likeness: null, foundBy: "words" as const }));
      const counted = await memories.collections();
      if (stop.signal.aborted) return;
      setMatches(found);
      setCollections(counted);
      setProblem("");
    };
    const timer = setTimeout(() => void look().catch((error: unknown) => !stop.signal.aborted && setProblem(errorText(error))), query ? PAUSE_MS : 0);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [query, kind, id, forgotten, round]);
  const reload = useCallback(() => setRound((now) => now + 1), []);
  return { matches, collections, problem, reload };
}
