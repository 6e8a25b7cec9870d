import { SegmentedControl } from "@mantine/core";
import type { NativeTools as Native } from "../api/types";
import classes from "./ToolChoice.module.css";

const tools: readonly (readonly [keyof Native, string])[] = [
  ["webSearch", "Web search"],
  ["codeExecution", "Code execution"],
  ["urlContext", "Reading web pages"],
  ["imageGeneration", "Making pictures"],
];
const states = [
  { value: "default", label: "Default" },
  { value: "on", label: "On" },
  { value: "off", label: "Off" },
];

const stateOf = (value: boolean | null) => (value === null ? "default" : value ? "on" : "off");
const valueOf = (state: string) => (state === "default" ? null : state === "on");

interface NativeToolsProps {
  value: Native;
  /** What the default is. */
  note: string;
  onChange: (next: Native) => void;
}

/** The provider's own tools: as they are by default, on or off. */
export function NativeTools({ value, note, onChange }: NativeToolsProps) {
  return (
    <fieldset className={`ph-fieldset ${classes.native}`}>
      <legend>Provider's own tools</legend>
      <p className={classes.note}>{note}</p>
      {tools.map(([tool, label]) => (
        <div key={tool} className={classes.line}>
          <span aria-hidden>{label}</span>
          <SegmentedControl
            size="xs"
            aria-label={label}
            data={states}
            value={stateOf(value[tool])}
            onChange={(state) => onChange({ ...value, [tool]: valueOf(state) })}
          />
        </div>
      ))}
    </fieldset>
  );
}
