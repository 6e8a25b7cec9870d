import { useState } from "react";
import type { ResponseItem, Source } from "../api/types";
import { namesHost, safeLink } from "../markdown/links";
import { sourcesOf } from "./data";
import classes from "./Sources.module.css";

/** As many as are seen at once; an answer that cites every sentence has dozens. */
const FIRST = 6;

/** One source: a page as a link that shows where it leads, or a document by its title alone. */
function SourceLink({ source, number }: { source: Source; number: number }) {
  const link = safeLink(source.url);
  if (!link || !/^https?:/.test(link.href)) {
    return (
      <span className={classes.source} title={source.quote || undefined}>
        <span className={classes.number}>{number}</span>
        <bdi className={classes.title}>{source.title || "Without a name"}</bdi>
      </span>
    );
  }
  const title = source.title || link.host;
  return (
    <a
      className={classes.source}
      href={link.href}
      title={source.quote ? `${link.href}\n\n${source.quote}` : link.href}
      target="_blank"
      rel="noopener noreferrer"
    >
      <span className={classes.number}>{number}</span>
      <bdi className={classes.title}>{title}</bdi>
      {source.title && !namesHost(title, link.host) && <span className={classes.host}>{link.host}</span>}
    </a>
  );
}

/** What an answer cites, numbered, below it. */
export function Sources({ items }: { items: readonly ResponseItem[] }) {
  const [isWhole, setWhole] = useState(false);
  const sources = sourcesOf(items);
  if (!sources.length) return null;
  const shown = isWhole ? sources : sources.slice(0, FIRST);
  return (
    <section className={classes.sources} aria-label="Sources">
      <p className={classes.heading}>Sources</p>
      <ol className={classes.list}>
        {shown.map((source, at) => (
          <li key={source.url || source.title}>
            <SourceLink source={source} number={at + 1} />
          </li>
        ))}
        {shown.length < sources.length && (
          <li>
            <button type="button" className={classes.source} onClick={() => setWhole(true)}>
              {sources.length - shown.length} more
            </button>
          </li>
        )}
      </ol>
    </section>
  );
}
