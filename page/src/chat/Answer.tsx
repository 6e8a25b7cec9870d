import { Anchor } from "@mantine/core";
import type { ReactNode } from "react";
import { download, partUrl } from "../api/bytes";
import type { ResponseItem, ResultPart } from "../api/types";
import { partsOf } from "../calls/call";
import { unitIndex } from "../store/chars";
import classes from "./Answer.module.css";
import { Picture } from "./Picture";
import { Prose } from "./Prose";
import { size } from "./words";

/** As much as reading leaves to it. */
const BOX = { width: 640, height: 480 };

/** Return the pictures that a model made in an answer. */
export const picturesOf = (item: ResponseItem) => partsOf(item).filter((part) => part.kind === "image");

type Piece = { text: string } | { itemId: string; part: ResultPart };

/** Return what was said and made in order: text in one piece up to the next picture, also where an answer goes on. */
export function piecesOf(items: readonly ResponseItem[]): Piece[] {
  const pieces: Piece[] = [];
  const say = (text: string) => {
    const last = pieces.at(-1);
    if (last && "text" in last) last.text += text;
    else pieces.push({ text });
  };
  for (const item of items) {
    let told = 0;
    for (const part of picturesOf(item)) {
      const place = Math.max(told, unitIndex(item.text, part.at ?? 0));
      say(item.text.slice(told, place));
      pieces.push({ itemId: item.id, part });
      told = place;
    }
    say(item.text.slice(told));
  }
  return pieces;
}

function Made({ itemId, part }: { itemId: string; part: ResultPart }) {
  const name = part.name || "picture";
  const around = (url: string, image: ReactNode) => (
    <a href={url} target="_blank" rel="noreferrer noopener" aria-label={`${name}, in full size`}>
      {image}
    </a>
  );
  const pixels = part.width && part.height ? `${part.width} × ${part.height}` : "";
  return (
    <figure className={classes.made}>
      <Picture itemId={itemId} part={part} alt={`${name}, made by the model`} box={BOX} around={around} />
      <figcaption className={classes.about}>
        {[pixels, size(part.bytes)].filter(Boolean).join(", ")}{" "}
        <Anchor inherit {...download(partUrl(itemId, part.index), name)}>
          Save
        </Anchor>
      </figcaption>
    </figure>
  );
}

/** What a model said and the pictures that it made, each in its place. */
export function Answer({ items, isStreaming }: { items: readonly ResponseItem[]; isStreaming: boolean }) {
  const pieces = piecesOf(items);
  return pieces.map((piece, number) => {
    if ("part" in piece) return <Made key={number} {...piece} />;
    const isGrowing = isStreaming && number === pieces.length - 1;
    return isGrowing || piece.text.trim() ? <Prose key={number} text={piece.text} isStreaming={isGrowing} /> : null;
  });
}
