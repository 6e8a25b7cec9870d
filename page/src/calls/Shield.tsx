import { Tooltip } from "@mantine/core";
import { ShieldIcon } from "../shell/icons";
import classes from "./Calls.module.css";

/** On whose word a call was carried out or not, for who points at it, taps it, or has it read out. */
export function Shield({ words }: { words: string }) {
  if (!words) return null;
  return (
    <Tooltip label={words} multiline maw={320} events={{ hover: true, focus: true, touch: true }}>
      <button type="button" className={classes.shield}>
        <ShieldIcon size={14} />
        <span className="ph-hidden">{words}</span>
      </button>
    </Tooltip>
  );
}
