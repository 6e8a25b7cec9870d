import { Button, Popover, Switch, Tooltip } from "@mantine/core";
import { memo, useState } from "react";
import { SparkIcon } from "../shell/icons";
import { PageLink } from "../shell/links";
import { tell } from "../shell/messages";
import { settingsPath } from "../shell/router";
import { changeSettings } from "../store/actions";
import { settingsNow } from "../store/settings";
import { useApp } from "../store/store";
import classes from "./Prompts.module.css";
import { usePrompts } from "./store";

function Switches() {
  const { prompts } = usePrompts("miniPrompts");
  const on = useApp((state) => settingsNow(state).miniPrompts);
  const known = new Set(prompts.map(({ name }) => name));
  // One whose file is gone can still be switched off.
  const lost = prompts.length ? on.filter((name) => !known.has(name)) : [];
  const turn = (name: string, isOn: boolean) => {
    // Computed when the change is sent: an earlier change may still be unanswered, and then `on` is out of date.
    const change = (now: readonly string[]) => [...now.filter((each) => each !== name), ...(isOn ? [name] : [])];
    changeSettings(({ miniPrompts }) => ({ miniPrompts: change(miniPrompts) })).catch(tell);
  };
  return (
    <div className={classes.menu}>
      {[...prompts, ...lost.map((name) => ({ name, title: name, description: "Its file is gone; it says nothing." }))].map(
        ({ name, title, description }) => (
          <Switch
            key={name}
            className={classes.switch ?? ""}
            label={title}
            description={description}
            checked={on.includes(name)}
            onChange={(event) => turn(name, event.currentTarget.checked)}
          />
        ),
      )}
      <PageLink path={settingsPath("prompts")}>Edit mini prompts</PageLink>
    </div>
  );
}

/** The mini prompts as switches: what is on is said to the model with every message. */
export const MiniPrompts = memo(() => {
  const [opened, setOpened] = useState(false);
  const count = useApp((state) => settingsNow(state).miniPrompts.length);
  const isOpening = useApp((state) => state.opening);
  const label = count ? `Mini prompts: ${count} on` : "Mini prompts";
  return (
    <Popover opened={opened} onChange={setOpened} width={320} position="top-start" trapFocus returnFocus>
      <Popover.Target>
        <Tooltip label={label} disabled={opened}>
          <Button
            size="compact-sm"
            variant={count ? "light" : "subtle"}
            {...(count ? {} : { color: "gray" })}
            disabled={isOpening}
            aria-label={label}
            onClick={() => setOpened(!opened)}
          >
            <SparkIcon size={16} />
            {count > 0 && <span className={classes.count}>&nbsp;{count}</span>}
          </Button>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown aria-label="Mini prompts">
        <Switches />
      </Popover.Dropdown>
    </Popover>
  );
});
