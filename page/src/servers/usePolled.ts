import { useCallback, useEffect, useRef, useState } from "react";
import { errorText } from "../api/client";

export interface Polled<T> {
  data: T | null;
  problem: string;
  /** Ask now. */
  refresh: () => void;
  /** Draw what is known by another way; an answer to what was asked before is older. */
  set: (data: T) => void;
}

/** Ask again and again while the page is seen; an answer that took longer than the wait delays the next question. */
export function usePolled<T>(ask: () => Promise<T>, everyMs: number): Polled<T> {
  const [data, setData] = useState<T | null>(null);
  const [problem, setProblem] = useState("");
  const latest = useRef(ask);
  latest.current = ask;
  const isCurrent = useRef(true);
  const asked = useRef(0);
  const once = useCallback(async () => {
    const mine = ++asked.current;
    const isNewest = () => isCurrent.current && mine === asked.current;
    try {
      const answer = await latest.current();
      if (isNewest()) setData(answer);
      if (isNewest()) setProblem("");
    } catch (error) {
      if (isNewest()) setProblem(errorText(error));
    }
  }, []);
  const set = (known: T) => {
    asked.current += 1;
    setData(known);
  };
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
  return { data, problem, refresh: () => void once(), set };
}
