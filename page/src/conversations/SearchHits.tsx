import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useState, type ReactNode } from "react";
import { api, errorText } from "../api/client";
import type { SearchHit } from "../api/types";
import { ToolIcon } from "../shell/icons";
import { PageLink } from "../shell/links";
import { conversationPath, itemPath } from "../shell/router";
import { unitIndex } from "../store/chars";
import type { ConversationState } from "../store/conversation";
import { isShownAt } from "../store/placing";
import { useApp } from "../store/store";
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

/** A conversation with its hits. */
export interface Group {
  conversationId: string;
  title: string;
  /** The title with the words marked in it, where they stand there. */
  titleHit: SearchHit | null;
  hits: SearchHit[];
  /** What was found in it besides. */
  left: number;
}

/** Put the hits of each conversation together, in the order in which they came. */
export function grouped(hits: readonly SearchHit[]): Group[] {
  const groups = new Map<string, SearchHit[]>();
  for (const hit of hits) groups.set(hit.conversationId, [...(groups.get(hit.conversationId) ?? []), hit]);
  return [...groups].map(([conversationId, found]) => ({
    conversationId,
    title: found[0]?.title || "New conversation",
    titleHit: found.find(({ kind }) => kind === "title") ?? null,
    hits: found.filter(({ kind }) => kind !== "title"),
    left: (found[0]?.foundHere ?? found.length) - found.length,
  }));
}

/** What a hit is besides a text with the words, in a word each, and what that means. */
function marksOf(hit: SearchHit, isElsewhere: boolean): [string, string][] {
  const marks: [string, string][] = [];
  if (hit.similar) marks.push(["similar", "Found by what it means; it has not all of the words."]);
  if (isElsewhere) marks.push(["other branch", "It stands in another branch than the one that is shown, or that you chose last."]);
  if (hit.hidden) marks.push(["hidden", "You hid it: models are not sent it."]);
  return marks;
}

/** Tell whether a hit stands in another branch: of the open conversation than the one that this tab shows, of others than
 * the one that was chosen last, which is what opens. */
export function isElsewhere(hit: SearchHit, open: ConversationState | null): boolean {
  if (open?.conversation.id !== hit.conversationId) return hit.offPath;
  // What was told after a branch had left may still belong to a message before it; what was fetched knows.
  if (open.items.has(hit.itemId ?? "")) return false;
  return open.conversation.branches > 0 && (!open.hasEarlier || !isShownAt(open, hit.branch, hit.position));
}

/** One hit: the words around it, and whether it only means about the same. */
export function Hit({ hit, isOther }: { hit: SearchHit; isOther: boolean }) {
  return (
    <PageLink className={classes.hit} path={itemPath(hit.conversationId, hit.itemId ?? "", isOther ? hit.branch : null)}>
      {hit.kind === "tool_call" && <ToolIcon size={13} />}
      {hit.kind === "tool_call" && <span className="ph-hidden">A tool: </span>}
      <span className={classes.snippet}>{marked(hit)}</span>
      {marksOf(hit, isOther).map(([mark, meaning]) => (
        <span key={mark} className={classes.similar} title={meaning}>
          {mark}
        </span>
      ))}
    </PageLink>
  );
}

/** It follows what this tab shows. */
function PlacedHit({ hit }: { hit: SearchHit }) {
  const isOther = useApp(({ open }) => isElsewhere(hit, open));
  return <Hit hit={hit} isOther={isOther} />;
}

function Conversation({ group }: { group: Group }) {
  const { conversationId, title, titleHit, hits, left } = group;
  return (
    <li className={classes.found}>
      <PageLink className={classes.hitTitle} path={conversationPath(conversationId)}>
        {titleHit ? marked(titleHit) : title}
      </PageLink>
      {hits.map((hit) => (
        <PlacedHit key={hit.itemId} hit={hit} />
      ))}
      {left > 0 && <span className={classes.left}>and {left} more here</span>}
    </li>
  );
}

type Found = { query: string; hits: SearchHit[] } | { query: string; problem: string } | null;

function useSearch(query: string): Found {
  const [found, setFound] = useState<Found>(null);
  const [settled] = useDebouncedValue(query, 150);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const look = async () => {
      // What has the words is there at once; what is similar may take a moment, and comes below it.
      const words = await api.search(settled, "words", signal);
      if (words.hits.length && !signal.aborted) setFound({ query: settled, hits: words.hits });
      const all = await api.search(settled, "meaning", signal);
      if (!signal.aborted) setFound({ query: settled, hits: all.hits });
    };
    look().catch(
      (error: unknown) => signal.aborted || setFound({ query: settled, problem: errorText(error) }),
    );
    // Who types on waits for another search; the server need not finish this one.
    return () => leaving.abort();
  }, [settled]);
  return found;
}

/** What a search found: each conversation once, the words around its best hits; choosing one goes to its place. */
export function SearchHits({ query }: { query: string }) {
  const found = useSearch(query);
  if (!found) return <p className={classes.quiet}>Searching…</p>;
  if ("problem" in found) return <p className={classes.quiet}>{found.problem}</p>;
  if (!found.hits.length) return <p className={classes.quiet}>Nothing found for “{found.query}”.</p>;
  const groups = grouped(found.hits);
  return (
    <>
      <p className="ph-hidden" role="status">
        {groups.length === 1 ? "In 1 conversation" : `In ${groups.length} conversations`}
      </p>
      <ul className={classes.rows}>
        {groups.map((group) => (
          <Conversation key={group.conversationId} group={group} />
        ))}
      </ul>
    </>
  );
}
