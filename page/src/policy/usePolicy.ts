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
  const { data, problem, set } = usePolled(authority.policy, EVERY_MS);
  return { policy: data, problem, keep: set };
}
