interface BuiltIn {
  name: string;
  label: string;
  note: string;
}

/** The built-in tools, in the order in which models get them. */
export const allBuiltIn: readonly BuiltIn[] = [
  { name: "think", label: "Thinking aloud", note: "A place for thoughts between calls." },
  { name: "user_collaboration", label: "Questions to you", note: "The agent may ask, and waits for the answer." },
  { name: "increase_max_iterations", label: "More rounds", note: "The agent may ask for a longer run." },
  { name: "todo_operations", label: "Todos", note: "The list that shows how far it is." },
  { name: "file_operations", label: "Files", note: "Reading, searching and changing files." },
  { name: "terminal_operations", label: "Terminal", note: "Running commands." },
  { name: "build_and_version_control", label: "Tasks and git", note: "Building, testing, committing." },
];

/** These work on a folder and are not offered without one. */
export const needsFolder: ReadonlySet<string> = new Set(["file_operations", "terminal_operations", "build_and_version_control"]);

/** Return what is chosen after one tool was switched; null again once it is all of them. A name not known here stays. */
export function toggleBuiltIn(value: readonly string[] | null, name: string): string[] | null {
  const now = value ?? allBuiltIn.map((tool) => tool.name);
  const next = now.includes(name) ? now.filter((one) => one !== name) : [...now, name];
  return allBuiltIn.every((tool) => next.includes(tool.name)) ? null : inOrder(next);
}

function inOrder(names: readonly string[]): string[] {
  const place = new Map(allBuiltIn.map((tool, at) => [tool.name, at]));
  return [...names].sort((a, b) => (place.get(a) ?? allBuiltIn.length) - (place.get(b) ?? allBuiltIn.length));
}
