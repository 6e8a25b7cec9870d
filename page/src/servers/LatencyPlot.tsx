import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Latency } from "../api/types";
import { columns } from "./latencies";
import classes from "./Rooms.module.css";
import { LOCALE } from "../shell/time";

const HEIGHT = 180;

/** Colours of the theme that are told apart in both schemes. */
const inks = ["--ph-accent", "--ph-code-number", "--ph-code-keyword", "--ph-good", "--ph-code-title", "--ph-error"];

function ink(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Steps between marks of time, in seconds: no finer than people read it. */
const STEPS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400, 604_800];

function times(_: uPlot, marks: number[]): string[] {
  const isShort = (marks.at(-1) ?? 0) - (marks[0] ?? 0) < 300;
  const parts: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit" };
  if (isShort) parts.second = "2-digit";
  return marks.map((mark) => new Date(mark * 1000).toLocaleTimeString(LOCALE, parts));
}

function options(tools: readonly string[], width: number): uPlot.Options {
  const axis = {
    stroke: ink("--mantine-color-dimmed"),
    font: "11px Inter Variable, sans-serif",
    grid: { stroke: ink("--ph-border"), width: 1 },
    ticks: { show: false },
  };
  const series = tools.map((tool, at) => ({
    label: tool,
    stroke: ink(inks[at] ?? ""),
    fill: ink(inks[at] ?? ""),
    width: 1,
    // Single calls are dots: a line between them would tell of times that were not measured.
    paths: () => null,
    points: { show: true, size: 5, fill: ink(inks[at] ?? "") },
    value: (_: uPlot, value: number | null) => (value === null ? "–" : `${value.toFixed(1)} ms`),
  }));
  return {
    width,
    height: HEIGHT,
    cursor: { y: false, points: { show: false } },
    legend: { show: true, live: false },
    scales: { y: { range: (_: uPlot, __: number, high: number) => [0, Math.max(1, high * 1.15)] } },
    axes: [{ ...axis, incrs: STEPS, values: times, space: 80, size: 30 }, { ...axis, size: 62, values: (_: uPlot, marks: number[]) => marks.map((mark) => `${mark} ms`) }],
    series: [{}, ...series],
  };
}

/** How long each call took, over time; a dot for each call, a colour for each tool. */
export default function LatencyPlot({ calls, tools, label }: { calls: readonly Latency[]; tools: readonly string[]; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const scheme = useComputedColorScheme("light");
  const names = tools.join("\n");
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new uPlot(options(names.split("\n"), element.clientWidth), columns(calls, names.split("\n")), element);
    plot.current = made;
    const watcher = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      made.destroy();
      plot.current = null;
    };
    // New calls are put into the plot that is there, below.
  }, [names, scheme]);
  useEffect(() => plot.current?.setData(columns(calls, names.split("\n"))), [calls, names]);
  return <div ref={box} className={classes.plot} role="img" aria-label={label} />;
}
