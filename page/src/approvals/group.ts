import type { QuestionOf } from "../api/items";
import type { Choice } from "../chat/data";
import { covering } from "../policy/pattern";
import { seenFrom } from "../shell/paths";
import { askedOf, commonFolder, titleOf, type Asked } from "./asked";
import type { Decidable } from "./Choices";

/** Return what calls have in common: their operation, or where they differ their tool. */
function sharedName(asked: readonly Asked[]): string {
  const [first, ...others] = new Set(asked.map(({ operation }) => operation));
  if (first === undefined) return "a tool";
  return others.length ? (first.split(".")[0] ?? first) : first;
}

/** Return what a group is about: "12 calls of file_operations.create_file in src/". */
export function groupTitle(asked: readonly Asked[], folder: string | null): string {
  const paths = asked.flatMap((one) => one.paths.map(({ path }) => path));
  const place = seenFrom(folder, commonFolder(paths)) || (paths.length && folder ? "the working directory" : "");
  return `${asked.length} calls of ${sharedName(asked)}${place ? ` in ${place}` : ""}`;
}

/** Return what is asked in a line, of one call or of several. */
export function headingOf(items: readonly QuestionOf<"approval">[], folder: string | null): string {
  const [first, ...others] = items;
  if (!first || !others.length) return first ? titleOf(first) : "";
  return `Allow ${groupTitle(items.map(({ data }) => askedOf(data)), folder)}?`;
}

/** Return what may be answered to all of these at once. */
export function decidable(asked: readonly Asked[]): Decidable {
  const [first, ...others] = asked;
  const proposals = asked.map(({ proposal }) => proposal);
  const proposal = proposals.every((one) => one !== null) ? covering(proposals) : null;
  const isShared = ({ id }: Choice) => others.every(({ choices }) => choices.some((choice) => choice.id === id));
  // Without a pattern that covers them all, nothing lasting is offered for several.
  const isOffered = ({ id }: Choice) => !others.length || proposal !== null || id === "allow" || id === "deny";
  const choices = (first?.choices ?? []).filter((choice) => isShared(choice) && isOffered(choice));
  return { choices, dangerous: first?.dangerous ?? "", proposal, count: asked.length };
}
