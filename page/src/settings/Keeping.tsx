import { Button, FileButton } from "@mantine/core";
import { useRef, useState } from "react";
import { importFile } from "../api/bytes";
import type { ConfigView } from "../api/types";
import { tell } from "../shell/messages";
import { conversationPath, navigate } from "../shell/router";
import { changeConfig } from "./actions";
import { NumberSetting } from "./NumberSetting";
import { Part } from "./Part";
import classes from "./Settings.module.css";

/** Takes the conversations of a file over, and opens the first of them. */
function Import() {
  const [isBusy, setBusy] = useState(false);
  const forget = useRef<() => void>(null);
  const take = (file: File | null) => {
    if (!file) return;
    setBusy(true);
    importFile(file)
      .then(({ conversations: [first] }) => first && navigate(conversationPath(first.id)))
      .catch(tell)
      .finally(() => {
        setBusy(false);
        // The same file, mended, may be chosen again.
        forget.current?.();
      });
  };
  return (
    <FileButton accept=".jsonl,.gz" onChange={take} resetRef={forget}>
      {(props) => (
        <Button {...props} variant="default" size="xs" loading={isBusy}>
          Import conversations…
        </Button>
      )}
    </FileButton>
  );
}

/** How long conversations are kept, and those of elsewhere. */
export function Keeping({ config: { retention } }: { config: ConfigView }) {
  return (
    <Part title="Keeping conversations">
      <p className={classes.explained}>
        Once a day the server removes what is older or more than you say, for good. The command{" "}
        <code>pilothouse retention</code> shows what that would be now.
      </p>
      <NumberSetting
        label="Days"
        description="Conversations that nobody touched for so long are removed."
        usual="for ever"
        max={36_500}
        saved={retention.days}
        save={(days) => changeConfig({ retention: { ...retention, days } })}
      />
      <NumberSetting
        label="Megabytes"
        description="The longest untouched are removed until the rest is smaller."
        usual="any number"
        max={100_000_000}
        saved={retention.megabytes}
        save={(megabytes) => changeConfig({ retention: { ...retention, megabytes } })}
      />
      <Import />
    </Part>
  );
}
