import { useEffect, useState } from "react";
import { finding } from "../api/finding";
import type { RegistryView } from "../api/types";
import { tell } from "../shell/messages";

/** The registries as they are; `set` takes over what a change of them gave. */
export function useRegistries() {
  const [registries, set] = useState<readonly RegistryView[]>([]);
  useEffect(() => {
    let isCurrent = true;
    finding.registries().then((list) => isCurrent && set(list.registries), tell);
    return () => {
      isCurrent = false;
    };
  }, []);
  return { registries, set };
}
