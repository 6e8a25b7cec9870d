import { Fragment } from "react";
import classes from "./Context.module.css";
import { inkOf, percent, tokens, type Filling } from "./ledger";
import type { ContextLedger } from "../api/types";

const HEIGHT = 14;
/** Between two parts that touch, in thousandths of the bar. */
const GAP = 3;
const WIDTH = 1000;

/** The window as a bar: what fills it in the order of the list below, and where older turns are summed up. */
export function FillBar({ ledger, all }: { ledger: ContextLedger; all: readonly Filling[] }) {
  const scale = WIDTH / Math.max(ledger.window, ledger.used, 1);
  const widths = all.map((one) => one.tokens * scale);
  return (
    <svg className={classes.bar} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <rect className={classes.free} width={WIDTH} height={HEIGHT} />
      {all.map(({ kind }, at) => (
        <rect
          key={kind}
          data-ink={inkOf(kind)}
          x={widths.slice(0, at).reduce((sum, width) => sum + width, 0)}
          width={Math.max(1, (widths[at] ?? 0) - GAP)}
          height={HEIGHT}
        />
      ))}
      {!ledger.gone && <rect className={classes.limit} x={Math.min(WIDTH - GAP, ledger.compactAbove * scale)} width={GAP} height={HEIGHT} />}
    </svg>
  );
}

/** What fills the window, in numbers. */
export function FillTable({ ledger, all }: { ledger: ContextLedger; all: readonly Filling[] }) {
  return (
    <table className={classes.table} aria-label="What fills the window">
      <thead className="ph-hidden">
        <tr>
          <th scope="col">What</th>
          <th scope="col">Tokens</th>
          <th scope="col">Share of the window</th>
        </tr>
      </thead>
      <tbody>
        {all.map(({ kind, name, tokens: count, parts }) => (
          <Fragment key={kind}>
            <tr>
              <th scope="row">
                <svg className={classes.swatch} viewBox="0 0 10 10" aria-hidden="true" focusable="false">
                  <rect data-ink={inkOf(kind)} width="10" height="10" rx="2.5" />
                </svg>
                {name}
              </th>
              <td>{tokens(count)}</td>
              <td>{percent(count, ledger.window || ledger.used)}</td>
            </tr>
            {parts.map((part, at) => (
              <tr key={at} className={classes.inner}>
                <th scope="row">{part.server || part.label}</th>
                <td>{tokens(part.tokens)}</td>
                <td />
              </tr>
            ))}
          </Fragment>
        ))}
        {!ledger.gone && (
          <tr>
            <th scope="row">
              <svg className={classes.swatch} viewBox="0 0 10 10" aria-hidden="true" focusable="false">
                <rect className={classes.free} width="10" height="10" rx="2.5" />
              </svg>
              Free
            </th>
            <td>{tokens(Math.max(0, ledger.window - ledger.used))}</td>
            <td>{percent(Math.max(0, ledger.window - ledger.used), ledger.window)}</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}
