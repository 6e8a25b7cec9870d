import { ActionIcon, UnstyledButton } from "@mantine/core";
import { useMemo, type KeyboardEvent } from "react";
import type { UserMessageItem } from "../api/types";
import { BackIcon, ChevronIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { placeOf, type Place, type Sibling } from "../store/branches";
import { useApp } from "../store/store";
import classes from "./Branches.module.css";
import type { Direction } from "./holding";
import { openTree } from "./opened";
import { standsAt, switchTo } from "./switching";

/** Other messages in the place of one, or other answers to it. */
type What = "message" | "answer";

const words = {
  message: { group: "Versions of this message", one: "version", title: "Version" },
  answer: { group: "Answers to this message", one: "answer", title: "Answer" },
};

/** The arrow that a pointer has gone down on. The arrows of what is shown next take its place while it is down, and then no
 * click comes of it. */
let pressed: { name: string; direction: Direction; element: Element } | null = null;

/** Return those to switch between, each with all that leads to it, and which of them is shown. */
function choicesOf(place: Place, what: What): { all: (readonly Sibling[])[]; at: number } {
  if (what === "message") return { all: [...place.messages], at: place.message };
  return { all: (place.messages[place.message] ?? []).map((sibling) => [sibling]), at: place.answer };
}

/** ‹ 2 of 3 ›: switches between what stands in the same place; what follows changes with it. */
export function Arrows({ message, what }: { message: UserMessageItem | undefined; what: What }) {
  const branches = useApp((state) => state.open?.branches);
  const place = useMemo(() => (branches && message ? placeOf(branches, message) : null), [branches, message]);
  if (!place) return null;
  const { all, at } = choicesOf(place, what);
  if (all.length < 2) return null;
  const { group, one, title } = words[what];
  const name = `${place.root} ${what}`;
  const go = (direction: Direction) => {
    const to = standsAt(name, at) + (direction === "next" ? 1 : -1);
    const siblings = all[to];
    if (siblings) switchTo({ name, direction, place, to, siblings }).catch(tell);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    go(event.key === "ArrowLeft" ? "previous" : "next");
  };
  const arrow = (direction: Direction) => {
    const isPossible = direction === "next" ? at < all.length - 1 : at > 0;
    return (
      // Not disabled: whoever has come to the end by keyboard keeps the focus there.
      <ActionIcon
        size="sm"
        className={classes.arrow}
        aria-label={direction === "next" ? `Next ${one}` : `Previous ${one}`}
        aria-disabled={!isPossible || undefined}
        data-direction={direction}
        onPointerDown={({ currentTarget }) => (pressed = { name, direction, element: currentTarget })}
        onPointerUp={() => {
          if (pressed?.name === name && pressed.direction === direction && !pressed.element.isConnected) go(direction);
          pressed = null;
        }}
        onClick={() => go(direction)}
      >
        {direction === "next" ? <ChevronIcon size={15} /> : <BackIcon size={15} />}
      </ActionIcon>
    );
  };
  return (
    <span role="group" aria-label={`${group}: ${at + 1} of ${all.length}`} className={classes.arrows} data-place={name} onKeyDown={onKeyDown}>
      {arrow("previous")}
      <UnstyledButton className={classes.count} aria-label={`${title} ${at + 1} of ${all.length}. Show all branches`} onClick={openTree}>
        {at + 1} of {all.length}
      </UnstyledButton>
      {arrow("next")}
    </span>
  );
}
