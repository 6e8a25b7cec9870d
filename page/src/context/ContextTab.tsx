import { useMemo } from "react";
import { cost, count } from "../chat/words";
import { counted } from "../servers/words";
import { moment } from "../shell/time";
import { Failure } from "../settings/Warning";
import { PageLink } from "../shell/links";
import { itemPath, settingsPath } from "../shell/router";
import { useItems } from "../store/useItems";
import classes from "./Context.module.css";
import { FillBar, FillTable } from "./Fill";
import { costWords, estimatedWords, fillings, isNearlyFull, percent, tokens } from "./ledger";
import type { ContextLedger, RunUsage } from "../api/types";
import { useLedger } from "./useLedger";

/** Return when older turns are summed up, in words. */
function limitWords({ used, compactAbove }: ContextLedger): string {
  const left = compactAbove - used;
  const when = `Older turns are summed up above ${tokens(compactAbove)} tokens`;
  return left > 0 ? `${when}; ${tokens(left)} are left until then.` : `${when}, with the next message.`;
}

const whoCounted = {
  provider: "The provider counted the whole; what each part has of it is estimated.",
  estimate: "Estimated; the provider counts once it has answered.",
};

/** Return what the conversation cost so far, where something is known of it. */
const soFar = ({ totals }: ContextLedger) => (totals.cost === null ? "" : `${cost(totals.cost)} so far`);

function Window({ ledger }: { ledger: ContextLedger }) {
  const all = useMemo(() => fillings(ledger.parts), [ledger]);
  return (
    <section className={classes.part} aria-label="Window">
      <p className={classes.model}>
        <span>{ledger.modelName}</span>
        <span>{soFar(ledger)}</span>
      </p>
      <p className={classes.sum}>
        <span>
          <strong>{tokens(ledger.used)}</strong> {ledger.gone ? "tokens" : `of ${tokens(ledger.window)} tokens`}
        </span>
        {!ledger.gone && <strong>{percent(ledger.used, ledger.window)}</strong>}
      </p>
      <FillBar ledger={ledger} all={all} />
      <p className={classes.note} data-near={isNearlyFull(ledger) || undefined}>
        {ledger.gone || limitWords(ledger)}
      </p>
      <FillTable ledger={ledger} all={all} />
      <p className={classes.note}>{whoCounted[ledger.counted]}</p>
    </section>
  );
}

function Spending({ ledger: { totals, cached, used } }: { ledger: ContextLedger }) {
  return (
    <section className={classes.part} aria-label="This conversation">
      <h3 className="ph-section-title">This conversation</h3>
      <dl className={`ph-facts ${classes.facts}`}>
        <dt>Cost</dt>
        <dd>{costWords(totals)}</dd>
        <dt>Requests</dt>
        <dd>{[tokens(totals.requests), estimatedWords(totals)].filter(Boolean).join("; ")}</dd>
        <dt>Tokens</dt>
        <dd>
          {tokens(totals.input)} in, {tokens(totals.output)} out
        </dd>
        <dt>From the cache</dt>
        <dd>
          {tokens(totals.cacheRead)} of what went in
          {totals.requests > 0 && cached > 0 && `; ${percent(cached, Math.max(used, cached))} of the last request`}
        </dd>
      </dl>
    </section>
  );
}

/** Return what one message took, in one line. */
function runFacts({ requests, input, output, cost: dollars }: RunUsage): string {
  return [counted(requests, "request"), `${count(input)} in`, `${count(output)} out`, dollars === null ? "no price known" : cost(dollars)].join(" · ");
}

function LastRuns({ runs, conversationId }: { runs: readonly RunUsage[]; conversationId: string }) {
  const asked = useItems(runs.map(({ itemId }) => itemId));
  const words = new Map(asked.map((item) => [item.id, item.text]));
  if (!runs.length) return null;
  return (
    <section className={classes.part} aria-label="Last messages">
      <h3 className="ph-section-title">Last messages</h3>
      <ol className={classes.runs}>
        {runs.map((run) => (
          <li key={run.runId}>
            {run.itemId ? (
              <PageLink path={itemPath(conversationId, run.itemId)} className={classes.asked}>
                {words.get(run.itemId) || "A message further up"}
              </PageLink>
            ) : (
              <span className={classes.asked}>A message that is gone</span>
            )}
            <span className={classes.quiet}>{`${moment(run.startedAt)} · ${runFacts(run)}`}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** What fills the window of the open conversation, what came from the cache, and what it cost. */
export default function ContextTab() {
  const kept = useLedger();
  if (!kept) return <p className={`ph-lead ${classes.empty}`}>What fills the model’s window shows here once a conversation has begun.</p>;
  return (
    <div className={classes.tab}>
      <Failure message={kept.problem} />
      {kept.ledger && (
        <>
          <Window ledger={kept.ledger} />
          <Spending ledger={kept.ledger} />
          <LastRuns runs={kept.ledger.runs} conversationId={kept.conversationId} />
          <p className={classes.note}>
            All conversations by day and model, and budgets: <PageLink path={settingsPath("usage")}>Settings, Usage</PageLink>
          </p>
        </>
      )}
    </div>
  );
}
