import { useCallback, useEffect, useRef, useState } from "react";
import { errorText } from "../api/client";

export interface Polled<T> {
  data: T | null;
  problem: string;
  /** Ask now. */
  refresh: () => void;
}

/** Ask again and again while the page is seen; an answer that took longer than the wait delays the next question. */
export function usePolled<T>(ask: () => Promise<T>, everyMs: number): Polled<T> {
  const [data, setData] = useState<T | null>(null);
  const [problem, setProblem] = useState("");
  const latest = useRef(ask);
  latest.current = ask;
  const isCurrent = useRef(true);
  const once = useCallback(async () => {
    try {
      const answer = await latest.current();
      if (isCurrent.current) setData(answer);
      if (isCurrent.current) setProblem("");
    } catch (error) {
      if (isCurrent.current) setProblem(errorText(error));
    }
  }, []);
  useEffect(() => {
    isCurrent.current = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isStopped = false;
    const round = async () => {
      if (document.visibilityState === "visible") await once();
      if (!isStopped) timer = setTimeout(() => void round(), everyMs);
    };
    void round();
    return () => {
      isStopped = true;
      isCurrent.current = false;
      clearTimeout(timer);
    };
  }, [once, everyMs]);
  return { data, problem, refresh: () => void once() };
}
