import { useMemo } from "react";
import { useApp, useGetState } from "../store/store";
import { groupAtEnd, type Group } from "./group";
import { useIsSettled } from "./settled";

/** Draw with the comparison that the open path ends with; what draws it rests while text streams. */
export function useGroupAtEnd(): Group | null {
  const now = useGetState();
  const order = useApp(({ open }) => open?.order);
  const branches = useApp(({ open }) => open?.branches);
  return useMemo(() => groupAtEnd(now().open), [now, order, branches]);
}

/** Return the comparison whose columns are open: until the person goes on with one of its answers. */
export function useComparison(): Group | null {
  const group = useGroupAtEnd();
  const isSettled = useIsSettled(group?.itemId ?? null);
  return isSettled ? null : group;
}
