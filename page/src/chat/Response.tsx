import type { Item, ResponseItem } from "../api/types";
import { AnswerActions } from "../branches/MessageActions";
import { CopyButton } from "../shell/CopyButton";
import { activeRun } from "../store/conversation";
import { useApp } from "../store/store";
import { useItems } from "../store/useItems";
import { Answer, picturesOf } from "./Answer";
import classes from "./Chat.module.css";
import { errorOf, usageOf, type Usage } from "./data";
import { Fold } from "./Fold";
import type { Foot } from "./rows";
import { Sources } from "./Sources";
import { cost as costWords, count, duration } from "./words";

/** Return the facts of an answer in reading order; what is not known is left out. */
export function usageFacts(usage: Usage): string[] {
  const { input, output, cached, reasoning, isEstimated, firstTokenMs, tokensPerSecond, cost } = usage;
  const facts = [
    input !== null && `${isEstimated ? "estimated: " : ""}${count(input)} tokens in`,
    cached ? `${count(cached)} cached` : false,
    output !== null && `${count(output)} out`,
    reasoning ? `${count(reasoning)} thinking` : false,
    cost !== null && costWords(cost),
    firstTokenMs !== null && `first token after ${duration(firstTokenMs)}`,
    tokensPerSecond !== null && `${tokensPerSecond.toFixed(1)} tokens/s`,
  ];
  return facts.filter((fact) => typeof fact === "string");
}

interface FooterProps {
  items: readonly ResponseItem[];
  said: string;
  isTheEnd: boolean;
  foot: Foot | undefined;
}

function Footer({ items, said, isTheEnd, foot }: FooterProps) {
  const { id: itemId = null, data: { model: id = "" } = {} } = items.at(-1) ?? {};
  const name = useApp((state) => state.models.models.find((model) => model.id === id)?.name ?? id);
  const facts = usageFacts(usageOf(items));
  return (
    <div className={classes.footer} data-quiet data-shown={isTheEnd || undefined}>
      {foot && <AnswerActions foot={foot} said={said} itemId={itemId} />}
      {!foot && said && (
        <span className={classes.quietly}>
          <CopyButton value={said} label="Copy answer" />
        </span>
      )}
      <span className={`${classes.quietly} ${classes.cost}`}>
        {[name, ...facts].filter(Boolean).join(" · ")}
      </span>
    </div>
  );
}

/** Tell whether this is where everything ended: what was said so far is then all there is. */
function useIsTheEnd(item: Item): boolean {
  return useApp(({ open }) => open?.order[open.order.length - 1] === item.id && activeRun(open) === null);
}

/** What the model answered, as one with what goes on where it was cut; an attempt that broke off is one quiet line,
 * once another one follows. */
export function Response({ item, more, foot }: { item: ResponseItem; more: readonly string[]; foot?: Foot | undefined }) {
  const rest = useItems(more).filter((each) => each.kind === "response");
  const last = rest.at(-1) ?? item;
  const said = item.text + rest.map((each) => each.text).join("");
  const isStreaming = last.status === "streaming";
  const isTheEnd = useIsTheEnd(last);
  const isEmpty = !said && ![item, ...rest].some((each) => picturesOf(each).length);
  const { cutOff } = item.data;
  if (cutOff && (isEmpty || !isTheEnd)) {
    if (isEmpty) return null;
    return (
      <Fold summary="An attempt broke off">
        {() => (
          <>
            <Answer items={[item]} isStreaming={false} />
            <p className={classes.quiet}>{errorOf(item)}</p>
          </>
        )}
      </Fold>
    );
  }
  if (isEmpty && !isStreaming) return null;
  return (
    <article className={classes.response} aria-busy={isStreaming}>
      <h2 className="ph-hidden">Answer</h2>
      <Answer items={[item, ...rest]} isStreaming={isStreaming} />
      {last.status === "cancelled" && <p className={classes.quiet}>Stopped.</p>}
      <Sources items={[item, ...rest]} />
      {!isStreaming && <Footer items={[item, ...rest]} said={said} isTheEnd={isTheEnd} foot={foot} />}
    </article>
  );
}
