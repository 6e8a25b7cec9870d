/** Return a path or an address without the slashes at its end. */
export const withoutEnd = (path: string) => path.replace(/(?<!\/)\/+$/, "");

/** Return a path as it is seen from a folder; one that lies elsewhere stays whole. */
export function seenFrom(folder: string | null, path: string): string {
  const base = folder && withoutEnd(folder);
  return base && path.startsWith(`${base}/`) ? path.slice(base.length + 1) : path;
}
