import { useEffect, useState } from "react";
import { hostNow } from "../store/clock";
import { seconds } from "./words";

/** Return the time by the host's clock, again and again, while something goes on. */
export function useNow(everyMs: number, isRunning = true): number {
  const [now, setNow] = useState(hostNow);
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setNow(hostNow()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isRunning]);
  return now;
}

/** How long something has been going on, counting. */
export function Elapsed({ since }: { since: number }) {
  const now = useNow(100);
  return <>{seconds(now - since)}</>;
}
