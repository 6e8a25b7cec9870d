import { useEffect, useState, type MouseEvent } from "react";
import { tell } from "../shell/messages";
import { onceBack } from "../store/store";
import { ApiError, problemOf } from "./client";
import { fetchAsPage } from "./csrf";
import type { components } from "./schema";

type Imported = components["schemas"]["Imported"];

/** Fetch what is at a path of this server. A plain address in the page would come without half of the token. */
export async function bytesAt(path: string): Promise<Blob> {
  const answer = await fetchAsPage(new Request(path, { credentials: "same-origin" }));
  if (!answer.ok) throw new ApiError(answer.status, problemOf(await answer.json().catch(() => null), answer.status));
  return answer.blob();
}

/** Give the person a file. */
export function save(name: string, bytes: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(bytes);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Return what a link to a file of this server needs. */
export function download(path: string, name: string) {
  return {
    href: path,
    download: name,
    onClick: (event: MouseEvent) => {
      event.preventDefault();
      bytesAt(path).then((bytes) => save(name, bytes), tell);
    },
  };
}

/** Give the server a file of conversations. */
export async function importFile(file: File): Promise<Imported> {
  const headers = { "content-type": "application/x-ndjson" };
  const answer = await fetchAsPage(
    new Request("/api/import", { method: "POST", body: file, headers, credentials: "same-origin" }),
  );
  const said: unknown = await answer.json().catch(() => null);
  if (!answer.ok) throw new ApiError(answer.status, problemOf(said, answer.status));
  return said as Imported;
}

/** Return where one part of a message or a result is. */
export const partUrl = (itemId: string, index: number) => `/api/items/${encodeURIComponent(itemId)}/parts/${index}`;

interface Fetched {
  url: string;
  /** Why there is none: it could not be fetched, or is not what is wanted. */
  failed: "" | "unfetched" | "unfit";
}

const anything = () => Promise.resolve(true);

/** Return an address of what is at a path, once it is here and fit; nothing is fetched as long as the path is empty.
 * What could not be fetched is fetched again when the server is back. */
export function useBytes(path: string, isFit: (bytes: Blob) => Promise<boolean> = anything): Fetched {
  const [url, setUrl] = useState("");
  const [failed, setFailed] = useState<Fetched["failed"]>("");
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let made = "";
    let isGone = !path;
    let forget = () => {};
    if (path)
      bytesAt(path).then(
        async (bytes) => {
          const fit = await isFit(bytes);
          if (isGone) return;
          if (!fit) return setFailed("unfit");
          made = URL.createObjectURL(bytes);
          setUrl(made);
        },
        () => {
          if (isGone) return;
          setFailed("unfetched");
          forget = onceBack(() => {
            setFailed("");
            setTries((before) => before + 1);
          });
        },
      );
    return () => {
      isGone = true;
      forget();
      URL.revokeObjectURL(made);
    };
  }, [path, isFit, tries]);
  return { url, failed };
}
