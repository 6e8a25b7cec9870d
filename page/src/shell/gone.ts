import { useEffect, useState } from "react";
import { getState, useApp, type Connection } from "../store/store";

/** A connection that is back within this time was never gone to a person. */
const NOTICED_MS = 1_500;

const isDown = (connection: Connection) => connection === "reconnecting" || connection === "offline";

/** Tell whether the server cannot be reached now. */
export const isGone = () => isDown(getState().connection);

/** Return how the server is away, once that is worth telling; null while it is there. */
export function useGone(): "reconnecting" | "offline" | null {
  const connection = useApp((state) => state.connection);
  const down = isDown(connection);
  const [isNoticed, setNoticed] = useState(false);
  useEffect(() => {
    if (!down) return setNoticed(false);
    const timer = setTimeout(() => setNoticed(true), NOTICED_MS);
    return () => clearTimeout(timer);
  }, [down]);
  if (!down || !isNoticed) return null;
  return connection === "offline" ? "offline" : "reconnecting";
}
