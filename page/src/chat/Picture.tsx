import { useEffect, useRef, useState, type ReactNode, type RefObject } from "react";
import { partUrl, useBytes } from "../api/bytes";
import type { ResultPart } from "../api/types";
import { rasterOf } from "../markdown/raster";
import classes from "./Chat.module.css";

/** The frame of a JPEG can stand behind a large thumbnail; everything else is in the first bytes. */
const HEAD = 300_000;

const isBearable = async (bytes: Blob) => rasterOf(new Uint8Array(await bytes.slice(0, HEAD).arrayBuffer())) !== null;

interface Box {
  width: number;
  height: number;
}

/** Return the size at which a picture is drawn in a box, from the one that it says it has; a square when it says none. */
function drawn(part: ResultPart, box: Box): Box {
  if (!part.width || !part.height) return { width: box.height, height: box.height };
  const scale = Math.min(1, box.width / part.width, box.height / part.height);
  return { width: Math.max(1, Math.round(part.width * scale)), height: Math.max(1, Math.round(part.height * scale)) };
}

/** Return whether an element has been in view. */
function useSeen(element: RefObject<HTMLElement | null>): boolean {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (isSeen || !element.current) return;
    const observer = new IntersectionObserver((entries) => setSeen(entries.some((entry) => entry.isIntersecting)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [isSeen, element]);
  return isSeen;
}

interface PictureProps {
  itemId: string;
  part: ResultPart;
  alt: string;
  /** The most room that it takes. */
  box: Box;
  /** Draws what is around it, once its address is known. */
  around?: (url: string, image: ReactNode) => ReactNode;
}

/** A picture that is kept beside the timeline: fetched when its place comes into view, which is kept free until then. */
export function Picture({ itemId, part, alt, box, around }: PictureProps) {
  const place = useRef<HTMLSpanElement>(null);
  const isSeen = useSeen(place);
  const { url, failed } = useBytes(isSeen ? partUrl(itemId, part.index) : "", isBearable);
  if (failed === "unfit") return <span className={classes.quiet}>An image that cannot be shown.</span>;
  if (failed) return <span className={classes.quiet}>The image could not be fetched.</span>;
  const size = drawn(part, box);
  // In its shape, also where there is less room than that.
  const kept = { width: size.width, aspectRatio: `${size.width} / ${size.height}` };
  if (!url) return <span ref={place} className={classes.place} style={kept} aria-hidden />;
  const held = part.width ? size : { style: { maxWidth: box.width, maxHeight: box.height } };
  const image = <img className={classes.attached} src={url} alt={alt} {...held} />;
  return around ? around(url, image) : image;
}
