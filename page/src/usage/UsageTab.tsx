import { Button, SegmentedControl } from "@mantine/core";
import { useEffect, useState } from "react";
import { api, errorText } from "../api/client";
import { download } from "../api/bytes";
import { count } from "../chat/words";
import { costWords, estimatedWords } from "../context/ledger";
import type { UsageReport, UsageSum } from "../api/types";
import { counted } from "../servers/words";
import { loadConfig } from "../settings/actions";
import { Described } from "../settings/Described";
import { Failure } from "../settings/Warning";
import { DownloadIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { Said } from "../shell/Said";
import classes from "./Usage.module.css";
import { byModel, dollars, isPriced, type Measure } from "./usage";
import { UsagePlot } from "./UsagePlot";
import { DayTable, ModelTable } from "./UsageTables";

const PERIODS = [7, 30, 90];
const formats = ["csv", "json"] as const;

/** What is asked for, and what came of it; what is there stays until something else has come. */
function useUsage(days: number): { report: UsageReport | null; problem: string } {
  const [report, setReport] = useState<UsageReport | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let isCurrent = true;
    api.usage(days).then(
      (told) => {
        if (!isCurrent) return;
        setReport(told);
        setProblem("");
      },
      (error: unknown) => isCurrent && setProblem(errorText(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [days]);
  return { report, problem };
}

/** Return a sum in one line: "1.2M tokens in 34 requests, about $0.42". */
const sumWords = (total: UsageSum) =>
  total.requests === 0 ? "nothing" : `${count(total.input + total.output)} tokens in ${counted(total.requests, "request")}, ${[costWords(total), estimatedWords(total)].filter(Boolean).join("; ")}`;

/** Return what is left to say of today, where it has a budget. */
const budgetWords = (budget: number | null) => (budget === null ? "" : `; the budget for today is ${dollars(budget)}`);

function Sums({ report, days }: { report: UsageReport; days: number }) {
  return (
    <dl className="ph-facts">
      <dt>Today</dt>
      <dd>{sumWords(report.today) + budgetWords(report.budgetToday)}</dd>
      <dt>{`Last ${days} days`}</dt>
      <dd>{sumWords(report.total)}</dd>
    </dl>
  );
}

function Export({ days }: { days: number }) {
  return (
    <div className={classes.exports}>
      {formats.map((format) => (
        <Button
          key={format}
          component="a"
          variant="default"
          size="xs"
          leftSection={<DownloadIcon size={15} />}
          {...download(`/api/usage/export?days=${days}&format=${format}`, `usage-${days}-days.${format}`)}
        >
          {`Export as ${format.toUpperCase()}`}
        </Button>
      ))}
    </div>
  );
}

/** Return what is missing in a plot of costs. */
function missingWords(report: UsageReport): string {
  const names = byModel(report.days).filter((one) => !isPriced(one)).map(({ modelName }) => modelName);
  if (!names.length) return "";
  return `What has no known price is missing here: ${names.join(", ")}. You can say what a model costs in Settings, Models.`;
}

function Shown({ report, days, measure }: { report: UsageReport; days: number; measure: Measure }) {
  if (!report.days.length) return <p className="ph-explained">{`No model was asked anything in the last ${days} days.`}</p>;
  const label = `${measure === "cost" ? "Cost" : "Tokens"} per day, by model, in the last ${days} days`;
  return (
    <>
      <UsagePlot report={report} measure={measure} label={label} />
      {measure === "cost" && (
        <p className={`ph-explained ${classes.missing}`}>
          <Said text={missingWords(report)} />
        </p>
      )}
      <ModelTable report={report} />
      <DayTable report={report} measure={measure} />
    </>
  );
}

/** What all conversations used, by day and model, and the budgets. */
export default function UsageTab() {
  const [days, setDays] = useState(30);
  const [measure, setMeasure] = useState<Measure>("tokens");
  const { report, problem } = useUsage(days);
  useEffect(() => void loadConfig().catch(tell), []);
  return (
    <>
      <Failure message={problem} />
      <section className={classes.usage} aria-label="Usage">
        <div className={classes.head}>
          <SegmentedControl
            size="xs"
            aria-label="Days"
            data={PERIODS.map((period) => ({ value: String(period), label: `${period} days` }))}
            value={String(days)}
            onChange={(value) => setDays(Number(value))}
          />
          <SegmentedControl
            size="xs"
            aria-label="What is shown"
            data={[
              { value: "tokens", label: "Tokens" },
              { value: "cost", label: "Cost" },
            ]}
            value={measure}
            onChange={(value) => setMeasure(value as Measure)}
          />
          <span className="ph-space" />
          <Export days={days} />
        </div>
        {report && (
          <>
            <Sums report={report} days={days} />
            <Shown report={report} days={days} measure={measure} />
            {report.incomplete && <p className="ph-explained">What was used before the last upgrade is still being counted.</p>}
            <p className="ph-explained">{`Prices: ${report.pricesFrom}`}</p>
          </>
        )}
      </section>
      <Described tab="usage" />
    </>
  );
}
