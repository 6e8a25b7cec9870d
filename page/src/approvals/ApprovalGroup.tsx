import { Button } from "@mantine/core";
import { useEffect, useRef, useState, type RefObject } from "react";
import type { Item } from "../api/types";
import { inOneLine, toolName } from "../calls/call";
import { Exactly } from "../calls/Exactly";
import { Fold } from "../chat/Fold";
import { covering, type Pattern } from "../policy/pattern";
import { seenFrom } from "../shell/paths";
import { getState, useApp } from "../store/store";
import { ApprovalCard, Frame, Reasons } from "./ApprovalCard";
import classes from "./Approvals.module.css";
import { askedOf, commonFolder, isOpen, type Asked } from "./asked";
import { Choices } from "./Choices";
import { focusApproval } from "./focus";
import { Settled } from "./Settled";
import { useAnswers } from "./useAnswers";
import { WhatRuns } from "./WhatRuns";

/** Calls that are listed before someone asks for all of them. */
const LISTED = 4;

/** One call of a group in a line: what sets it apart from the others. */
function line(asked: Asked, call: Item | undefined, folder: string | null): string {
  if (asked.command) return asked.command.text || asked.command.argv.join(" ");
  if (asked.paths.length) return asked.paths.map(({ path }) => seenFrom(folder, path)).join(", ");
  return call ? inOneLine(call) || toolName(call) : asked.operation;
}

function Calls({ items }: { items: readonly Item[] }) {
  const [isWhole, setWhole] = useState(false);
  const folder = useApp((state) => state.open?.conversation.settings.workingDirectory ?? null);
  const shown = isWhole ? items : items.slice(0, LISTED);
  return (
    <>
      <ol className={classes.calls} aria-label="Calls">
        {shown.map((item) => {
          const asked = askedOf(item.data);
          const words = line(asked, getState().open?.items.get(asked.callItemId), folder);
          return (
            <li key={item.id}>
              <Fold
                isWide
                summary={
                  <code className={classes.callLine}>
                    <Exactly value={words} />
                  </code>
                }
              >
                {() => <WhatRuns asked={asked} />}
              </Fold>
            </li>
          );
        })}
      </ol>
      {items.length > LISTED && (
        <Button size="compact-xs" variant="subtle" color="gray" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show fewer" : `Show all ${items.length} calls`}
        </Button>
      )}
    </>
  );
}

/** Return the choices that all of these offer. */
function common(asked: readonly Asked[], proposal: Pattern | null): ReadonlySet<string> {
  const [first, ...others] = asked.map(({ choices }) => choices);
  const shared = [...(first ?? [])].filter((choice) => others.every((each) => each.has(choice)));
  return new Set(proposal ? shared : shared.filter((choice) => choice === "allow" || choice === "deny"));
}

/** Return what a group is about: "12 calls of file_operations.create_file in src/". */
export function groupTitle(asked: readonly Asked[], folder: string | null): string {
  const paths = asked.flatMap((one) => one.paths.map(({ path }) => path));
  const place = seenFrom(folder, commonFolder(paths)) || (paths.length && folder ? "the working directory" : "");
  return `${asked.length} calls of ${asked[0]?.operation ?? "a tool"}${place ? ` in ${place}` : ""}`;
}

/** Calls of the same shape: one decision for all of them. */
function GroupCard({ items, onSplit }: { items: readonly Item[]; onSplit: () => void }) {
  const folder = useApp((state) => state.open?.conversation.settings.workingDirectory ?? null);
  const asked = items.map((item) => askedOf(item.data));
  const { isSending, send } = useAnswers(items);
  const proposals = asked.map(({ proposal }) => proposal);
  const proposal = proposals.every((one) => one !== null) ? covering(proposals) : null;
  const what = { choices: common(asked, proposal), dangerous: "", proposal, count: items.length };
  return (
    <Frame title={`Allow ${groupTitle(asked, folder)}?`} dangerous="">
      {(card) => (
        <>
          <Calls items={items} />
          {asked[0] && <Reasons asked={asked[0]} />}
          <Choices what={what} card={card} isSending={isSending} onAnswer={send} />
          <Button className={classes.apart} size="compact-xs" variant="subtle" color="gray" disabled={isSending} onClick={onSplit}>
            Decide one by one
          </Button>
        </>
      )}
    </Frame>
  );
}

function statesOf(itemIds: readonly string[], items: ReadonlyMap<string, Item> | undefined): string {
  return itemIds.map((id) => items?.get(id)?.status ?? "").join();
}

/** Hand the focus on when the card that had it is gone: to the next question, or to how this one ended. */
function useHandOver(openCount: number, ended: RefObject<HTMLElement | null>): void {
  const before = useRef(openCount);
  useEffect(() => {
    const isAnswered = openCount < before.current;
    before.current = openCount;
    if (!isAnswered || document.activeElement !== document.body) return;
    if (!focusApproval()) ended.current?.focus({ preventScroll: true });
  }, [openCount, ended]);
}

/** A question about a call, or several about calls of the same shape: a card while open, then one line each way. */
export function ApprovalGroup({ itemIds }: { itemIds: readonly string[] }) {
  const [isSplit, setSplit] = useState(false);
  const ended = useRef<HTMLElement>(null);
  // Drawn again when one of them is answered, and not with everything else that happens.
  useApp((state) => statesOf(itemIds, state.open?.items));
  const items = itemIds.map((id) => getState().open?.items.get(id)).filter((item) => item !== undefined);
  const open = items.filter(isOpen);
  const over = items.filter((item) => !isOpen(item));
  useHandOver(open.length, ended);
  return (
    <>
      {over.length > 0 && <Settled ref={ended} items={over} />}
      {open.length > 1 && !isSplit && <GroupCard items={open} onSplit={() => setSplit(true)} />}
      {(open.length === 1 || isSplit) && open.map((item) => <ApprovalCard key={item.id} item={item} />)}
    </>
  );
}
