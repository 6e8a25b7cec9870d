import type { Item, QuestionItem } from "./types";

type QuestionData = QuestionItem["data"];

/** A question of one kind. */
export type QuestionOf<K extends QuestionData["kind"]> = QuestionItem & { data: Extract<QuestionData, { kind: K }> };

/** Tell whether an item is a question of one kind. */
export function asks<K extends QuestionData["kind"]>(item: Item | undefined, kind: K): item is QuestionOf<K> {
  return item?.kind === "question" && item.data.kind === kind;
}

/** Return what a question was answered; nothing while it was not. */
export const answerTo = ({ data: { answer } }: QuestionItem) => answer ?? {};

/** Tell whether an item waits for its end. */
export const isOpen = ({ status }: Item) => status === "waiting" || status === "streaming";

const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);

// What is a list of objects in every kind of item that has it, and what is an object.
const lists = new Set(["changes", "choices", "content", "documents", "sources"]);
const objects = new Set(
  "access answer arguments askedArguments decision error fork memory parameters phases preview progress proposal schema servers shown slot todos usage".split(" "),
);

function fits([name, value]: [string, unknown]): boolean {
  if (value === null || value === undefined) return true;
  if (lists.has(name)) return Array.isArray(value) && value.every(isObject);
  return !objects.has(name) || isObject(value);
}

/** Return what an item carries without what a server of another version means otherwise: everything may be missing. */
export function known<T extends object>(data: T): T {
  const fields = Object.entries(data ?? {});
  return data && fields.every(fits) ? data : (Object.fromEntries(fields.filter(fits)) as T);
}

/** Return an item as this page understands it. */
export function knownItem(item: Item): Item {
  const data = known(item.data);
  return data === item.data ? item : ({ ...item, data } as Item);
}
