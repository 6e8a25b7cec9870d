import { Switch } from "@mantine/core";
import { useState } from "react";
import type { ConfigView } from "../api/types";
import { tell } from "../shell/messages";
import { changeConfig } from "./actions";
import { NumberSetting } from "./NumberSetting";
import { Part } from "./Part";

const SECONDS_IN_A_DAY = 86_400;

/** How long calls of built-in tools may take; those of servers have their own times. */
export function BuiltInTimes({ config }: { config: ConfigView }) {
  const times = config.toolTimeouts;
  // The choice shows at once; what the server kept has the last word.
  const [chosen, setChosen] = useState<boolean | null>(null);
  const align = (on: boolean) => {
    setChosen(on);
    changeConfig({ toolTimeouts: { align_with_model: on } })
      .catch(tell)
      .finally(() => setChosen(null));
  };
  return (
    <Part title="Times of built-in tools">
      <NumberSetting
        label="Seconds that a call may take"
        description="Left empty, each tool has its own time: a command ten minutes, reading a file half a minute."
        usual="Their own"
        max={SECONDS_IN_A_DAY}
        saved={times.default ?? null}
        save={(value) => changeConfig({ toolTimeouts: { default: value } })}
      />
      <Switch
        label="Hold them to the model’s context window"
        description="With a small model calls end sooner, after a minute at the earliest: it could not read a long result anyway."
        checked={chosen ?? times.align_with_model ?? true}
        onChange={(event) => align(event.currentTarget.checked)}
      />
    </Part>
  );
}
