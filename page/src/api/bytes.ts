import { useEffect, useState, type MouseEvent } from "react";
import { tell } from "../shell/messages";
import { ApiError, problemOf } from "./client";
import { fetchAsPage } from "./half";

/** Fetch what is at a path of this server. A plain address in the page would come without half of the token. */
async function bytesAt(path: string): Promise<Blob> {
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

/** Return an address of what is at a path, once it is here; and whether it could not be fetched. */
export function useBytes(path: string): { url: string; failed: boolean } {
  const [url, setUrl] = useState("");
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let made = "";
    let isGone = false;
    bytesAt(path).then(
      (bytes) => {
        if (isGone) return;
        made = URL.createObjectURL(bytes);
        setUrl(made);
      },
      () => setFailed(!isGone),
    );
    return () => {
      isGone = true;
      URL.revokeObjectURL(made);
    };
  }, [path]);
  return { url, failed };
}
