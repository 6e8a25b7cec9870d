// The server counts characters; strings here count UTF-16 units, and an emoji is two of them.

const isLead = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;

/** Return how many characters a text has. */
export function charCount(text: string): number {
  let pairs = 0;
  for (let at = 0; at < text.length - 1; at++) {
    if (isLead(text.charCodeAt(at))) {
      pairs += 1;
      at += 1;
    }
  }
  return text.length - pairs;
}

/** Return the index, in UTF-16 units, where the text's character number `chars` begins. */
export function unitIndex(text: string, chars: number): number {
  let at = 0;
  for (let seen = 0; seen < chars && at < text.length; seen++) at += isLead(text.charCodeAt(at)) ? 2 : 1;
  return Math.min(at, text.length);
}

/** Return a text without its first characters. */
export function dropChars(text: string, chars: number): string {
  return chars <= 0 ? text : text.slice(unitIndex(text, chars));
}
