import { useState } from "react";
import { authority, type PolicyView } from "../api/authority";
import { usePolled } from "../servers/usePolled";

/** Often enough for a file that is edited by hand. */
const EVERY_MS = 5_000;

export interface Policy {
  policy: PolicyView | null;
  problem: string;
  /** Draw what was just saved. */
  keep: (policy: PolicyView) => void;
}

/** Draw with the rules as they are. */
export function usePolicy(): Policy {
  const { data, problem } = usePolled(authority.policy, EVERY_MS);
  const [kept, setKept] = useState<{ over: PolicyView | null; policy: PolicyView } | null>(null);
  // What was just saved shows at once; the next answer of the server has the last word.
  const policy = kept && kept.over === data ? kept.policy : data;
  return { policy, problem, keep: (next) => setKept({ over: data, policy: next }) };
}
