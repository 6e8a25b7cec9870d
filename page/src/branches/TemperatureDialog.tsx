import { Modal, NumberInput } from "@mantine/core";
import { useState } from "react";
import { DialogFoot, FormButtons } from "../shell/DialogFoot";

interface TemperatureDialogProps {
  opened: boolean;
  onClose: () => void;
  onChosen: (temperature: number) => void;
}

const USUAL = 1;

/** Asks how far the next answer may stray from what is most likely. */
export function TemperatureDialog({ opened, onClose, onChosen }: TemperatureDialogProps) {
  const [value, setValue] = useState<number | string>(USUAL);
  const isNumber = typeof value === "number";
  return (
    <Modal opened={opened} onClose={onClose} title="Regenerate at another temperature" size="sm">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isNumber) onChosen(value);
        }}
      >
        <NumberInput
          data-autofocus
          label="Temperature"
          description="0 is the most predictable, 2 the most varied."
          min={0}
          max={2}
          step={0.1}
          decimalScale={2}
          clampBehavior="strict"
          value={value}
          onChange={setValue}
        />
        <DialogFoot>
          <FormButtons onCancel={onClose} disabled={!isNumber}>
            Regenerate
          </FormButtons>
        </DialogFoot>
      </form>
    </Modal>
  );
}
