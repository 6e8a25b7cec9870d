import type { Item } from "../api/types";
import { ThoughtIcon } from "../shell/icons";
import { durationOf, isCutOff } from "./data";
import { Elapsed } from "./Elapsed";
import { Fold } from "./Fold";
import { Prose } from "./Prose";
import { seconds } from "./words";

function Summary({ item }: { item: Item }) {
  if (item.status === "streaming") {
    return (
      <>
        Thinking… <Elapsed since={item.createdAt * 1000} />
      </>
    );
  }
  const took = durationOf(item);
  const words = took === null ? "Thought" : `Thought for ${seconds(took)}`;
  return <>{isCutOff(item) ? `${words}, then broke off` : words}</>;
}

/** What the model thought before it answered; closed until someone wants to see it. */
export function Thinking({ item }: { item: Item }) {
  return (
    <Fold icon={<ThoughtIcon size={15} />} summary={<Summary item={item} />}>
      {() => <Prose text={item.text || "…"} isStreaming={item.status === "streaming"} />}
    </Fold>
  );
}
