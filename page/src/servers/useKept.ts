import { useRef } from "react";

/** Return the newest value that was one: while a dialog fades away it still shows what it showed. */
export function useKept<T>(value: T | null): T | null {
  const kept = useRef(value);
  if (value !== null) kept.current = value;
  return kept.current;
}
