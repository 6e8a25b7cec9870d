import { Button } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { SideBySide } from "../compare/SideBySide";
import { usePlaceHeld } from "../branches/holding";
import { useEditKept } from "../branches/useEditKept";
import { titleOf } from "../conversations/ConversationRow";
import { ArrowDownIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { currentRoute } from "../shell/router";
import { loadEarlier, loadUntil } from "../store/actions";
import { pathOf } from "../store/branches";
import { goToItem, knowPaths } from "../store/branching";
import { placeShown } from "../store/placing";
import { getState, useApp } from "../store/store";
import classes from "./Chat.module.css";
import { Pending } from "./Pending";
import { holds, placeOf, rowsOf, type Row } from "./rows";
import { TimelineRow } from "./TimelineRow";
import { useFollow } from "./useFollow";

/** Above this many lines only those in view are drawn; below, the browser's search and readers see them all. */
const VIRTUAL_ABOVE = 200;

interface RowsProps {
  rows: readonly Row[];
  target: string | null;
  follows: boolean;
  scroller: HTMLElement;
  /** Stay where the jump leads: a scroll to the end that is still to be told of must not count as the reader's. */
  letGo: () => void;
}

const rowOf = (rows: readonly Row[], itemId: string) =>
  document.getElementById(`item-${itemId}`) ?? document.getElementById(placeOf(rows, itemId));

function PlainRows({ rows, target, letGo }: RowsProps) {
  useEffect(() => {
    if (!target) return;
    letGo();
    rowOf(rows, target)?.scrollIntoView({ block: "start" });
  }, [target]);
  return rows.map((row) => (
    <div key={row.key} className={classes.lazy} data-line>
      <TimelineRow row={row} target={target} />
    </div>
  ));
}

/** The rows in view, each in its place; the place of the reader holds when rows come before or grow above. */
function VirtualRows({ rows, target, follows, scroller, letGo }: RowsProps) {
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller,
    estimateSize: () => 110,
    getItemKey: (at) => rows[at]?.key ?? at,
    overscan: 6,
    anchorTo: "end",
    followOnAppend: true,
    // Never at the end for who does not follow it.
    scrollEndThreshold: follows ? 40 : -1,
    scrollPaddingEnd: 48,
    useFlushSync: false,
  });
  useEffect(() => {
    const at = target ? rows.findIndex((row) => holds(row, target)) : -1;
    if (at < 0) return;
    letGo();
    virtualizer.scrollToIndex(at, { align: "start" });
  }, [target, virtualizer]);
  const shown = virtualizer.getVirtualItems();
  return (
    <div className={classes.virtual} style={{ height: virtualizer.getTotalSize() }}>
      <div style={{ transform: `translateY(${shown[0]?.start ?? 0}px)` }}>
        {shown.map(({ key, index }) => {
          const row = rows[index];
          return (
            <div key={key} data-index={index} data-line ref={virtualizer.measureElement}>
              {row && <TimelineRow row={row} target={target} />}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Fetches older items when their place comes near. */
function Earlier({ scroller }: { scroller: HTMLElement }) {
  const mark = useRef<HTMLDivElement>(null);
  const busy = useRef(false);
  useEffect(() => {
    if (!mark.current) return;
    const look = (entries: IntersectionObserverEntry[]) => {
      if (busy.current || !entries.some((entry) => entry.isIntersecting)) return;
      busy.current = true;
      loadEarlier()
        .catch(tell)
        .finally(() => (busy.current = false));
    };
    const observer = new IntersectionObserver(look, { root: scroller, rootMargin: "800px 0px 0px 0px" });
    observer.observe(mark.current);
    return () => observer.disconnect();
  });
  return (
    <div ref={mark} className={classes.earlier}>
      Loading earlier messages…
    </div>
  );
}

/** Have an item here: on the path that is shown, or else by showing the one that it is on. */
async function find(itemId: string): Promise<boolean> {
  const route = currentRoute();
  const named = route.page === "chat" ? route.branch : null;
  if (named !== null) await knowPaths([getState().open?.branch ?? 0]);
  const { open } = getState();
  const isOnPath = named === null || !open || pathOf(open.branches, open.branch).some(({ number }) => number === named);
  return (isOnPath && (await loadUntil(itemId))) || goToItem(itemId, named);
}

/** Return the item to show once it has been fetched; a search leads here. */
function useTarget(itemId: string | null, letGo: () => void): string | null {
  const [target, setTarget] = useState<string | null>(null);
  useEffect(() => {
    setTarget(null);
    if (!itemId) return;
    let isCurrent = true;
    letGo();
    find(itemId)
      .then((found) => isCurrent && found && setTarget(itemId))
      .catch(tell);
    return () => {
      isCurrent = false;
    };
  }, [itemId, letGo]);
  return target;
}

/** The open conversation's timeline. */
export function Timeline({ conversationId, itemId }: { conversationId: string; itemId: string | null }) {
  // State and not a ref: the rows measure against it, so it has to be there before them.
  const [scroller, setScroller] = useState<HTMLDivElement | null>(null);
  const content = useRef<HTMLDivElement>(null);
  const title = useApp((state) => (state.open ? titleOf(state.open.conversation) : ""));
  const order = useApp((state) => state.open?.order);
  const runs = useApp((state) => state.open?.runs);
  const hasEarlier = useApp((state) => state.open?.hasEarlier ?? false);
  const hidden = useApp((state) => state.open?.hidden);
  const until = useApp(placeShown);
  // Whose run an item belongs to never changes, so new text need not make new rows.
  const rows = useMemo(() => {
    const items = getState().open?.items;
    return order && items && runs && hidden ? rowsOf(order, items, runs, { hidden, until }) : [];
  }, [order, runs, hidden, until]);
  const last = rows.findLast((row) => row.kind !== "foot");
  const isLong = useRef(false);
  isLong.current ||= hasEarlier || rows.length > VIRTUAL_ABOVE;
  const sent = useApp((state) => state.sent);
  const { isAtEnd, isHeld, onScroll, toEnd, letGo, hold, onToggle } = useFollow(scroller, content, conversationId, sent);
  const target = useTarget(itemId, letGo);
  const branch = useApp((state) => state.open?.branch ?? 0);
  usePlaceHeld(branch, scroller, hold);
  useEditKept(conversationId);
  // Where the view ends earlier, its end is what one goes on from.
  useEffect(() => {
    if (until) toEnd();
  }, [until, toEnd]);
  const Rows = isLong.current ? VirtualRows : PlainRows;
  return (
    <div className={classes.timeline}>
      <div
        ref={setScroller}
        className={classes.scroller}
        data-scroller
        data-virtual={isLong.current || undefined}
        onScroll={onScroll}
        onClickCapture={(event) => {
          const button = (event.target as Element).closest("[aria-expanded]");
          if (button) onToggle(button);
        }}
        tabIndex={0}
        role="region"
        aria-label="Conversation"
      >
        <div ref={content} className={classes.column}>
          <h1 className="ph-hidden">{title}</h1>
          {hasEarlier && scroller && <Earlier scroller={scroller} />}
          {scroller && (
            <Rows rows={rows} target={target} follows={isAtEnd && !isHeld} scroller={scroller} letGo={letGo} />
          )}
          <Pending isTold={until !== null || (last?.kind === "activity" && last.tells)} />
          <SideBySide />
        </div>
      </div>
      {!isAtEnd && (
        <Button
          className={classes.jump}
          size="compact-sm"
          variant="default"
          radius="xl"
          leftSection={<ArrowDownIcon size={14} />}
          onClick={toEnd}
        >
          Jump to latest
        </Button>
      )}
    </div>
  );
}
