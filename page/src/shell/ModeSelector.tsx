import { Button, Menu, Modal } from "@mantine/core";
import { useState } from "react";
import { useNow } from "../chat/Elapsed";
import { modeAt, modeNames, modes, modeWords, type Mode } from "../policy/modes";
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
  const now = useNow(15_000, settings.mode === "auto_approve");
  return modeAt(settings, now / 1000);
}

/** Change the mode of this conversation; its time begins anew, also where the same is chosen again. */
export const setMode = (mode: Mode) => void changeSettings({ mode, modeSince: 0 }).catch(tell);

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

/** How much this conversation may do unasked, and the way to change it. */
export function ModeSelector() {
  const mode = useMode();
  const [isConfirming, setConfirming] = useState(false);
  const choose = (next: Mode) => {
    if (next === mode) return;
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
            aria-label={`Mode: ${modeNames[mode]}`}
          >
            {modeNames[mode]}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {modes.map((each) => (
            <Menu.RadioItem
              key={each}
              className={classes.item}
              value={each}
              checked={each === mode}
              checkIcon={<CheckIcon size={16} />}
              closeMenuOnClick
              onChange={() => choose(each)}
            >
              {modeNames[each]}
              <div className={classes.words}>{modeWords[each]}</div>
            </Menu.RadioItem>
          ))}
        </Menu.Dropdown>
      </Menu>
      <ConfirmAutoApprove opened={isConfirming} onClose={() => setConfirming(false)} />
    </>
  );
}
