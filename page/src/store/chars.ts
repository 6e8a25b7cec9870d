const isLead = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;

/** Return the index where a text's character number `chars` begins: an emoji is one character and two units here. */
export function unitIndex(text: string, chars: number): number {
  let at = 0;
  for (let seen = 0; seen < chars && at < text.length; seen++) at += isLead(text.charCodeAt(at)) ? 2 : 1;
  return Math.min(at, text.length);
}
