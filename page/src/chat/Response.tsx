import type { Item } from "../api/types";
import { CopyButton } from "../shell/CopyButton";
import { activeRun } from "../store/conversation";
import { useApp } from "../store/store";
import classes from "./Chat.module.css";
import { errorOf, isCutOff, text, usageOf, type Usage } from "./data";
import { Fold } from "./Fold";
import { Prose } from "./Prose";
import { count, duration } from "./words";

/** Return the facts of an answer in reading order; what is not known is left out. */
export function usageFacts(usage: Usage): string[] {
  const { input, output, cached, reasoning, firstTokenMs, tokensPerSecond } = usage;
  const facts = [
    input !== null && `${count(input)} tokens in`,
    cached ? `${count(cached)} cached` : false,
    output !== null && `${count(output)} out`,
    reasoning ? `${count(reasoning)} thinking` : false,
    firstTokenMs !== null && `first token after ${duration(firstTokenMs)}`,
    tokensPerSecond !== null && `${tokensPerSecond.toFixed(1)} tokens/s`,
  ];
  return facts.filter((fact) => typeof fact === "string");
}

function Footer({ item, isTheEnd }: { item: Item; isTheEnd: boolean }) {
  const id = text(item.data.model);
  const name = useApp((state) => state.models.models.find((model) => model.id === id)?.name ?? id);
  const facts = usageFacts(usageOf(item));
  return (
    <div className={classes.footer} data-quiet data-shown={isTheEnd || undefined}>
      <CopyButton value={item.text} label="Copy answer" />
      <span>{[name, ...facts].filter(Boolean).join(" · ")}</span>
    </div>
  );
}

/** Tell whether this is where everything ended: what was said so far is then all there is. */
function useIsTheEnd(item: Item): boolean {
  return useApp(({ open }) => open?.order[open.order.length - 1] === item.id && activeRun(open) === null);
}

/** What the model answered; an attempt that broke off is one quiet line, once another one follows. */
export function Response({ item }: { item: Item }) {
  const isStreaming = item.status === "streaming";
  const isTheEnd = useIsTheEnd(item);
  if (isCutOff(item) && (!item.text || !isTheEnd)) {
    if (!item.text) return null;
    return (
      <Fold summary="An attempt broke off">
        {() => (
          <>
            <Prose text={item.text} isStreaming={false} />
            <p className={classes.quiet}>{errorOf(item)}</p>
          </>
        )}
      </Fold>
    );
  }
  if (!item.text && !isStreaming) return null;
  return (
    <article className={classes.response} aria-busy={isStreaming}>
      <h2 className={classes.hidden}>Answer</h2>
      <Prose text={item.text} isStreaming={isStreaming} />
      {item.status === "cancelled" && <p className={classes.quiet}>Stopped.</p>}
      {!isStreaming && <Footer item={item} isTheEnd={isTheEnd} />}
    </article>
  );
}
