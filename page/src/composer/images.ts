import type { ImageInput } from "../api/types";
import { aboutFile } from "../documents/sentences";
import { rasterOf } from "../markdown/raster";

/** What the server takes; checked here so that a person hears it at once. */
export const MAX_IMAGES = 8;
export const MAX_IMAGE_BYTES = 5 * 1024 * 1024;
/** A message is at most 24 MiB as it is sent, where three bytes of an image take four. */
export const MAX_TOGETHER_BYTES = 17 * 1024 * 1024;

export interface Attachment extends ImageInput {
  name: string;
}

function base64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += 0x6000) parts.push(btoa(String.fromCharCode(...bytes.subarray(at, at + 0x6000))));
  return parts.join("");
}

async function attachment(file: File): Promise<Attachment> {
  if (file.size > MAX_IMAGE_BYTES) throw new Error(`${file.name} is larger than 5 MB. Make it smaller and try again.`);
  const bytes = new Uint8Array(await file.arrayBuffer());
  const raster = rasterOf(bytes);
  if (!raster) throw new Error(`${file.name} is not a PNG, JPEG, GIF or WebP image that can be shown.`);
  return { name: file.name, mediaType: raster.type, data: base64(bytes) };
}

/** Return what is attached once files are read, and what to say of those that cannot be taken. */
export async function attach(
  present: readonly Attachment[],
  files: readonly File[],
): Promise<{ images: Attachment[]; problem: string }> {
  const images = [...present];
  if (present.length + files.length > MAX_IMAGES) {
    return { images, problem: `A message can have at most ${MAX_IMAGES} images.` };
  }
  const size = files.reduce((sum, file) => sum + file.size, 0) + present.reduce((sum, { data }) => sum + data.length * 0.75, 0);
  if (size > MAX_TOGETHER_BYTES && files.every((file) => file.size <= MAX_IMAGE_BYTES)) {
    return { images, problem: "The images of a message can have at most 17 MB together. Send some of them in another one." };
  }
  const problems: string[] = [];
  for (const [at, one] of (await Promise.allSettled(files.map(attachment))).entries()) {
    if (one.status === "fulfilled") images.push(one.value);
    else problems.push(aboutFile(files[at]?.name ?? "", one.reason));
  }
  return { images, problem: problems.join("\n") };
}

/** Tell whether a file calls itself an image; whether it is one is looked at when it is read. */
export const isImage = (file: File) => file.type.startsWith("image/");

