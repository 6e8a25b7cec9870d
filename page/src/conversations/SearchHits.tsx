import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useState, type ReactNode } from "react";
import { api, errorText } from "../api/client";
import type { SearchHit } from "../api/types";
import { conversationPath, itemPath, navigate } from "../shell/router";
import { unitIndex } from "../store/chars";
import classes from "./Sidebar.module.css";

/** Return a snippet with its hits marked; the ranges count characters. */
export function marked(hit: Pick<SearchHit, "snippet" | "ranges">): ReactNode[] {
  const parts: ReactNode[] = [];
  let at = 0;
  for (const range of hit.ranges) {
    const start = unitIndex(hit.snippet, range.start);
    const end = unitIndex(hit.snippet, range.end);
    if (start < at || end <= start) continue;
    parts.push(hit.snippet.slice(at, start), <mark key={start}>{hit.snippet.slice(start, end)}</mark>);
    at = end;
  }
  return [...parts, hit.snippet.slice(at)];
}

function Hit({ hit }: { hit: SearchHit }) {
  const path = hit.itemId ? itemPath(hit.conversationId, hit.itemId) : conversationPath(hit.conversationId);
  return (
    <li>
      <a
        className={classes.hit}
        href={path}
        onClick={(event) => {
          event.preventDefault();
          navigate(path);
        }}
      >
        <span className={classes.hitTitle}>{hit.title || "New conversation"}</span>
        <span className={classes.snippet}>{marked(hit)}</span>
      </a>
    </li>
  );
}

type Found = { query: string; hits: SearchHit[] } | { query: string; problem: string } | null;

function useSearch(query: string): Found {
  const [found, setFound] = useState<Found>(null);
  const [settled] = useDebouncedValue(query, 150);
  useEffect(() => {
    let isCurrent = true;
    api.search(settled).then(
      (result) => isCurrent && setFound({ query: settled, hits: result.hits }),
      (error: unknown) => isCurrent && setFound({ query: settled, problem: errorText(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, [settled]);
  return found;
}

/** What a search found: the words around each hit; choosing one goes to its place. */
export function SearchHits({ query }: { query: string }) {
  const found = useSearch(query);
  if (!found) return <p className={classes.quiet}>Searching…</p>;
  if ("problem" in found) return <p className={classes.quiet}>{found.problem}</p>;
  if (!found.hits.length) return <p className={classes.quiet}>Nothing found for “{found.query}”.</p>;
  return (
    <>
      <p className={classes.hidden} role="status">
        {found.hits.length} found
      </p>
      <ul className={classes.rows}>
        {found.hits.map((hit) => (
          <Hit key={`${hit.conversationId}${hit.itemId}`} hit={hit} />
        ))}
      </ul>
    </>
  );
}
