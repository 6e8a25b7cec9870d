import type { CallItem } from "../api/types";
import classes from "./Calls.module.css";

/** The tools that a search found: their names, and in a server's own words what each does. */
export function FoundTools({ item }: { item: CallItem }) {
  const { found = [], foundInAll = 0 } = item.data;
  if (!found.length) return null;
  const more = foundInAll - found.length;
  return (
    <>
      <ul className={classes.found} aria-label="Found tools">
        {found.map(({ name, about }) => (
          <li key={name}>
            <code>{name}</code>
            {about && <span>{about}</span>}
          </li>
        ))}
      </ul>
      {more > 0 && <p className={classes.quiet}>{`${more} more fit less well.`}</p>}
    </>
  );
}
