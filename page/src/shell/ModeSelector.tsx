import { Button, Menu, Modal } from "@mantine/core";
import { memo, useState } from "react";
import { useNow } from "../chat/Elapsed";
import { defaultMode, modeAt, modeNames, modes, modeWords, type ChosenMode, type Mode } from "../policy/modes";
import { changeSettings } from "../store/actions";
import { settingsNow } from "../store/settings";
import { useApp } from "../store/store";
import { CheckIcon, ChevronDownIcon } from "./icons";
import { tell } from "./messages";
import { DialogFoot } from "./DialogFoot";
import classes from "./Mode.module.css";

/** Return the mode in force here; it is looked at again as time goes by, because one of them ends by itself. */
export function useMode(): Mode {
  const settings = useApp(settingsNow);
  const config = useApp((state) => state.config);
  const now = useNow(15_000, settings.mode === "auto_approve");
  return modeAt(settings, config, now / 1000);
}

/** Change the mode of this conversation; its time begins anew, also where the same is chosen again. */
export const setMode = (mode: ChosenMode) => void changeSettings({ mode, modeSince: 0 }).catch(tell);

/** Asks before a conversation stops asking. */
function ConfirmAutoApprove({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const confirm = () => {
    setMode("auto_approve");
    onClose();
  };
  return (
    <Modal opened={opened} onClose={onClose} title="Let this conversation do everything without asking?">
      <p className={classes.lead}>
        The model may then write, run and send in this conversation, on your behalf and at once. What it reads on the way may mislead it.
      </p>
      <ul className={classes.limits}>
        <li>It still asks about settings, secrets, dangerous calls, and private data on its way out.</li>
        <li>It ends when you stop it, when Pilothouse restarts, and after eight hours.</li>
        <li>It is for this conversation only, and is shown above it all the time.</li>
      </ul>
      <DialogFoot>
        <Button variant="default" data-autofocus onClick={onClose}>
          Keep asking
        </Button>
        <Button color="orange" className={classes.auto} onClick={confirm}>
          Switch on Auto-approve
        </Button>
      </DialogFoot>
    </Modal>
  );
}

/** Return what can be chosen: each mode, and first what holds where none is. */
function useChoices(): { value: ChosenMode; name: string; words: string }[] {
  const byDefault = useApp((state) => defaultMode(state.config, settingsNow(state).workingDirectory));
  const words = `Here ${modeNames[byDefault]}, as your settings say under Permissions.`;
  return [
    { value: "default", name: "Default", words },
    ...modes.map((value) => ({ value, name: modeNames[value], words: modeWords[value] })),
  ];
}

/** How much this conversation may do unasked, and the way to change it. */
export const ModeSelector = memo(() => {
  const mode = useMode();
  const isDefault = useApp((state) => settingsNow(state).mode === "default");
  const chosen = isDefault ? "default" : mode;
  const choices = useChoices();
  const [isConfirming, setConfirming] = useState(false);
  const choose = (next: ChosenMode) => {
    if (next === chosen) return;
    if (next === "auto_approve") setConfirming(true);
    else setMode(next);
  };
  return (
    <>
      <Menu position="top-start" width={320}>
        <Menu.Target>
          <Button
            className={classes.mode}
            data-mode={mode}
            variant="subtle"
            color="gray"
            size="compact-sm"
            rightSection={<ChevronDownIcon size={13} />}
            aria-label={`Mode: ${modeNames[mode]}${isDefault ? " (default)" : ""}`}
            title={modeWords[mode]}
          >
            {modeNames[mode]}
            {isDefault && <span className={classes.byDefault}> (default)</span>}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {choices.map(({ value, name, words }) => (
            <Menu.RadioItem
              key={value}
              className="ph-menu-item"
              value={value}
              checked={value === chosen}
              checkIcon={<CheckIcon size={16} />}
              closeMenuOnClick
              onChange={() => choose(value)}
            >
              {name}
              <div className={`ph-menu-note ${classes.words}`}>{words}</div>
            </Menu.RadioItem>
          ))}
        </Menu.Dropdown>
      </Menu>
      <ConfirmAutoApprove opened={isConfirming} onClose={() => setConfirming(false)} />
    </>
  );
});
