/** What a call is given, by name and as it is written: words as they are, everything else as JSON. */
export type Written = Record<string, string>;

/** Return what a call is given as a person writes it. */
export function asWritten(given: Record<string, unknown>): Written {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value, null, 2)]),
  );
}

/** Return what was written as a call takes it, and the names of what is not JSON where it has to be. */
export function read(given: Record<string, unknown>, written: Written): { value: Record<string, unknown>; wrong: ReadonlySet<string> } {
  const wrong = new Set<string>();
  const value = Object.fromEntries(
    Object.entries(written).map(([name, text]) => {
      if (typeof given[name] === "string") return [name, text];
      try {
        return [name, JSON.parse(text) as unknown];
      } catch {
        wrong.add(name);
        return [name, given[name]];
      }
    }),
  );
  return { value, wrong };
}
