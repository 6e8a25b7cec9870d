import type { ThinkingItem } from "../api/types";
import { ThoughtIcon } from "../shell/icons";
import { Elapsed } from "./Elapsed";
import { Fold, type Toggled } from "./Fold";
import { Prose } from "./Prose";
import { seconds } from "./words";

/** How long the model thought, or thinks so far. */
export function ThoughtLine({ item }: { item: ThinkingItem }) {
  if (item.status === "streaming") {
    return (
      <>
        Thinking… <Elapsed since={item.createdAt * 1000} />
      </>
    );
  }
  const { durationMs, cutOff } = item.data;
  const words = typeof durationMs === "number" ? `Thought for ${seconds(durationMs)}` : "Thought";
  return <>{cutOff ? `${words}, then broke off` : words}</>;
}

/** What the model thought before it answered; closed until someone wants to see it. */
export function Thinking({ item, onToggle }: { item: ThinkingItem; onToggle?: Toggled }) {
  return (
    <Fold icon={<ThoughtIcon size={15} />} summary={<ThoughtLine item={item} />} onToggle={onToggle}>
      {() => <Prose text={item.text || "…"} isStreaming={item.status === "streaming"} />}
    </Fold>
  );
}
