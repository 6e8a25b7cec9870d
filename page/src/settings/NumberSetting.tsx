import { NumberInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { errorText } from "../api/client";
import { numberOrNothing } from "./ModelFields";

interface NumberSettingProps {
  label: string;
  description: string;
  /** What holds while nothing is set. */
  usual: number | string;
  max: number;
  saved: number | null;
  save: (value: number | null) => Promise<unknown>;
}

/** A number that may be left open; it is kept when the field is left. */
export function NumberSetting({ label, description, usual, max, saved, save }: NumberSettingProps) {
  const [typed, setTyped] = useState<number | "">(saved ?? "");
  const [problem, setProblem] = useState("");
  useEffect(() => setTyped(saved ?? ""), [saved]);
  const keep = () => {
    const value = typed === "" ? null : typed;
    if (value === saved) return;
    setProblem("");
    save(value).catch((error: unknown) => setProblem(errorText(error)));
  };
  return (
    <NumberInput
      label={label}
      description={description}
      placeholder={String(usual)}
      min={1}
      max={max}
      allowDecimal={false}
      // What was refused stays as it was typed; the nearest number may mean something else.
      clampBehavior="none"
      // An arrow would make 1 of nothing, and 1 day or 1 second is hardly meant.
      hideControls
      withKeyboardEvents={false}
      maw={320}
      value={typed}
      error={problem}
      onChange={(value) => setTyped(numberOrNothing(value))}
      onBlur={keep}
      onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
    />
  );
}
