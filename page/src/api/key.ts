/** This browser's key: it can sign, and no script can read it. */

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" };
const NAME = "pilothouse";
const NEXT = "next";
const SHELF = "keys";

export interface NewKey {
  publicHalf: string;
  /** Let it take the place of the key before it, which is good until then. */
  keep: () => Promise<unknown>;
}

const put = (pair: CryptoKeyPair, name: string) => onShelf("readwrite", (shelf) => shelf.put(pair, name));

/** Make a key; null where none can be kept, as on plain HTTP over a network. */
export async function newKey(): Promise<NewKey | null> {
  if (!globalThis.crypto?.subtle || !globalThis.indexedDB) return null;
  try {
    const pair = await crypto.subtle.generateKey(ALGORITHM, false, ["sign"]);
    await put(pair, NEXT);
    return { publicHalf: await publicHalf(pair), keep: () => put(pair, NAME) };
  } catch {
    return null;
  }
}

/** Return `key.signature` for a text; fails where no key is kept. */
export async function sign(text: string): Promise<string> {
  const pair = (await onShelf("readonly", (shelf) => shelf.get(NAME))) as CryptoKeyPair;
  const bytes = new TextEncoder().encode(text);
  const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, pair.privateKey, bytes);
  return `${await publicHalf(pair)}.${base64url(signature)}`;
}

const publicHalf = async (pair: CryptoKeyPair) => base64url(await crypto.subtle.exportKey("raw", pair.publicKey));

function base64url(bytes: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function onShelf(mode: IDBTransactionMode, use: (shelf: IDBObjectStore) => IDBRequest): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(NAME, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(SHELF);
    opening.onerror = () => reject(opening.error as Error);
    opening.onsuccess = () => {
      const work = opening.result.transaction(SHELF, mode);
      const asked = use(work.objectStore(SHELF));
      work.oncomplete = () => resolve(asked.result);
      work.onabort = () => reject(work.error as Error);
      opening.result.close();
    };
  });
}
