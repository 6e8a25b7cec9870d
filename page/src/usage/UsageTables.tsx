import { useState } from "react";
import { Table } from "@mantine/core";
import { tokens } from "../context/ledger";
import type { UsageReport } from "../api/types";
import { Unfold } from "../shell/More";
import classes from "./Usage.module.css";
import { amount, byModel, columns, dayName, dollars, isPriced, type Measure, type ModelUsage } from "./usage";

const NO_PRICE = "no price known";

/** Return what a model cost; where only some of it has a price, at least that. */
function costOf(usage: ModelUsage): string {
  if (usage.cost === null) return NO_PRICE;
  return isPriced(usage) ? dollars(usage.cost) : `at least ${dollars(usage.cost)}`;
}

function Swatch({ ink }: { ink: number }) {
  return (
    <svg className={classes.swatch} viewBox="0 0 10 10" aria-hidden="true" focusable="false">
      <rect data-ink={ink} width="10" height="10" rx="2.5" />
    </svg>
  );
}

/** What each model was used for: also what the inks of the plot mean. */
export function ModelTable({ report }: { report: UsageReport }) {
  const models = byModel(report.days);
  return (
    <div className={classes.wide} tabIndex={0} role="region" aria-label="Usage by model">
      <Table className={classes.table} verticalSpacing={5}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Model</Table.Th>
            <Table.Th>Requests</Table.Th>
            <Table.Th>Tokens in</Table.Th>
            <Table.Th>of it cached</Table.Th>
            <Table.Th>Tokens out</Table.Th>
            <Table.Th>Cost</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {models.map((one) => (
            <Table.Tr key={one.model}>
              <Table.Th scope="row">
                <Swatch ink={one.ink} />
                {one.modelName}
              </Table.Th>
              <Table.Td>{tokens(one.requests)}</Table.Td>
              <Table.Td>{tokens(one.input)}</Table.Td>
              <Table.Td>{tokens(one.cacheRead)}</Table.Td>
              <Table.Td>{tokens(one.output)}</Table.Td>
              <Table.Td data-unknown={one.cost === null || undefined}>{costOf(one)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

/** The numbers of the plot, newest day first; days without any are left out. */
export function DayTable({ report, measure }: { report: UsageReport; measure: Measure }) {
  const [isOpen, setOpen] = useState(false);
  const models = byModel(report.days).filter((one) => amount(one, measure) > 0);
  const used = columns(report, measure).filter(({ total }) => total > 0).reverse();
  return (
    <>
      <Unfold isOpen={isOpen} onToggle={() => setOpen(!isOpen)}>
        The numbers of the plot
      </Unfold>
      {isOpen && (
        <div className={classes.wide} tabIndex={0} role="region" aria-label="Usage by day">
          <Table className={classes.table} verticalSpacing={3}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Day</Table.Th>
                {models.map(({ model, modelName }) => (
                  <Table.Th key={model}>{modelName}</Table.Th>
                ))}
                <Table.Th>{measure === "cost" ? "Cost" : "Tokens"}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {used.map(({ day, total, blocks }) => (
                <Table.Tr key={day}>
                  <Table.Th scope="row">{dayName(day)}</Table.Th>
                  {models.map(({ model }) => {
                    const block = blocks.find((one) => one.model === model);
                    return <Table.Td key={model}>{block ? written(block.to - block.from, measure) : "–"}</Table.Td>;
                  })}
                  <Table.Td>{written(total, measure)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
    </>
  );
}

const written = (value: number, measure: Measure) => (measure === "cost" ? dollars(value) : tokens(Math.round(value)));
