// An image is shown only when its first bytes say that it is a raster image of a bearable size.

export type RasterType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

export interface Raster {
  type: RasterType;
  width: number;
  height: number;
}

const MAX_SIDE = 20_000;
const MAX_PIXELS = 50_000_000;

const ascii = (bytes: Uint8Array, from: number, to: number) => String.fromCharCode(...bytes.subarray(from, to));

function png(bytes: Uint8Array, view: DataView): Raster | null {
  if (bytes.length < 24 || ascii(bytes, 1, 4) !== "PNG" || ascii(bytes, 12, 16) !== "IHDR") return null;
  return { type: "image/png", width: view.getUint32(16), height: view.getUint32(20) };
}

function gif(bytes: Uint8Array, view: DataView): Raster | null {
  if (bytes.length < 10 || !/^GIF8[79]a$/.test(ascii(bytes, 0, 6))) return null;
  return { type: "image/gif", width: view.getUint16(6, true), height: view.getUint16(8, true) };
}

function jpeg(bytes: Uint8Array, view: DataView): Raster | null {
  if (bytes.length < 4 || view.getUint16(0) !== 0xffd8) return null;
  let at = 2;
  while (at + 9 < bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { type: "image/jpeg", width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    at += 2 + view.getUint16(at + 2);
  }
  return null;
}

function webp(bytes: Uint8Array, view: DataView): Raster | null {
  if (bytes.length < 30 || ascii(bytes, 0, 4) !== "RIFF" || ascii(bytes, 8, 12) !== "WEBP") return null;
  const kind = ascii(bytes, 12, 16);
  const size = (width: number, height: number): Raster => ({ type: "image/webp", width, height });
  const three = (at: number) => view.getUint16(at, true) + ((bytes[at + 2] ?? 0) << 16);
  if (kind === "VP8X") return size(three(24) + 1, three(27) + 1);
  if (kind === "VP8 ") return size(view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff);
  if (kind !== "VP8L") return null;
  const bits = view.getUint32(21, true);
  return size((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1);
}

/** Return what an image's bytes say it is, or null when it is no raster image or too large to be shown. */
export function rasterOf(bytes: Uint8Array): Raster | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = png(bytes, view) ?? gif(bytes, view) ?? jpeg(bytes, view) ?? webp(bytes, view);
  if (!found || found.width < 1 || found.height < 1) return null;
  const bearable = Math.max(found.width, found.height) <= MAX_SIDE && found.width * found.height <= MAX_PIXELS;
  return bearable ? found : null;
}

/** Return base64 text as a data: URL of the type its bytes have, or null when it cannot be shown. */
export function rasterUrl(base64: string): string | null {
  try {
    // The frame of a JPEG can stand behind a large thumbnail; everything else is in the first bytes.
    const head = atob(base64.slice(0, 400_000 - (400_000 % 4)));
    const raster = rasterOf(Uint8Array.from(head, (char) => char.charCodeAt(0)));
    return raster ? `data:${raster.type};base64,${base64}` : null;
  } catch {
    return null;
  }
}
