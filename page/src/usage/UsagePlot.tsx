import { useElementSize } from "@mantine/hooks";
import { useState } from "react";
import { columns, dayName, dayWords, marks, shown, type Column, type Measure } from "./usage";
import type { UsageReport } from "../api/types";
import classes from "./Usage.module.css";

const HEIGHT = 200;
const TOP = 8;
const BOTTOM = 22;
const LEFT = 46;
/** Room that the name of a day takes. */
const NAME_PX = 62;
const WIDEST_BAR = 28;

const low = HEIGHT - BOTTOM;

interface BarProps {
  column: Column;
  x: number;
  width: number;
  scale: (value: number) => number;
}

function Bar({ column, x, width, scale }: BarProps) {
  return column.blocks.map(({ model, ink, from, to }) => {
    const height = scale(from) - scale(to);
    // A line of the page between two models that touch, where there is room for one.
    return <rect key={model} data-ink={ink} x={x} y={scale(to)} width={width} height={Math.max(0.75, height > 3 ? height - 1 : height)} />;
  });
}

function Axis({ values, measure, scale, width }: { values: readonly number[]; measure: Measure; scale: BarProps["scale"]; width: number }) {
  return values.map((value) => (
    <g key={value}>
      <line className={classes.grid} x1={LEFT} x2={width} y1={scale(value)} y2={scale(value)} />
      <text x={LEFT - 8} y={scale(value)} dy="0.32em" textAnchor="end">
        {shown(value, measure)}
      </text>
    </g>
  ));
}

/** Return which days have their name below them: as many as there is room for, the last one always. */
const isNamed = (at: number, days: number, step: number) => (days - 1 - at) % Math.max(1, Math.ceil(NAME_PX / step)) === 0;

/** What was used each day, the models on top of each other; the tables have the same numbers. */
export function UsagePlot({ report, measure, label }: { report: UsageReport; measure: Measure; label: string }) {
  const { ref, width } = useElementSize();
  const [pointed, setPointed] = useState<number | null>(null);
  const all = columns(report, measure);
  const values = marks(Math.max(0, ...all.map(({ total }) => total)));
  const most = values.at(-1) ?? 1;
  const scale = (value: number) => low - (value / most) * (low - TOP);
  const step = Math.max(0, width - LEFT) / Math.max(1, all.length);
  const bar = Math.min(WIDEST_BAR, Math.max(1.5, step * 0.72));
  const looked = pointed === null ? undefined : all[pointed];
  return (
    <div className={classes.plot}>
      <p className={classes.pointed}>{looked ? dayWords(looked, measure) : label}</p>
      <div ref={ref}>
        <svg width="100%" height={HEIGHT} role="img" aria-label={label} onPointerLeave={() => setPointed(null)}>
          {width > 0 && (
            <>
              <Axis values={values} measure={measure} scale={scale} width={width} />
              {all.map((column, at) => (
                <g key={column.day} onPointerEnter={() => setPointed(at)}>
                  <rect className={classes.day} data-pointed={at === pointed || undefined} x={LEFT + at * step} y={TOP} width={step} height={low - TOP} />
                  <Bar column={column} x={LEFT + (at + 0.5) * step - bar / 2} width={bar} scale={scale} />
                  {isNamed(at, all.length, step) && (
                    <text x={Math.min(width - 20, LEFT + (at + 0.5) * step)} y={HEIGHT - 6} textAnchor="middle">
                      {dayName(column.day)}
                    </text>
                  )}
                </g>
              ))}
            </>
          )}
        </svg>
      </div>
    </div>
  );
}
