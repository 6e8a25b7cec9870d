/** How many branches of a conversation are remembered as looked at. */
const MOST = 100;

const place = (id: string) => `pilothouse.leaves.${id}`;

/** Return the branches of a conversation that this tab has shown, the last one first. */
export function visited(id: string, storage: Storage = sessionStorage): number[] {
  try {
    const kept: unknown = JSON.parse(storage.getItem(place(id)) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => Number.isInteger(one)) : [];
  } catch {
    return [];
  }
}

/** Remember that a branch is shown. */
export function visit(id: string, branch: number, storage: Storage = sessionStorage): void {
  const others = visited(id, storage).filter((one) => one !== branch);
  // Who has never left the first branch has nothing to go back to.
  if (branch === 0 && !others.length) return;
  try {
    storage.setItem(place(id), JSON.stringify([branch, ...others].slice(0, MOST)));
  } catch {
    // Storage that is full or forbidden only forgets where one was.
  }
}
