import { NumberInput } from "@mantine/core";
import { useState } from "react";
import { errorText } from "../api/client";
import type { Setting } from "../api/types";
import { numberOrNothing } from "./ModelFields";

interface NumberSettingProps {
  about: Setting;
  saved: number | null;
  save: (value: number | null) => Promise<void>;
}

/** What a number of dollars takes beside that of any other: a sign before it, and cents; and what a share takes. */
const dollars = { decimalScale: 2, prefix: "$" };
const share = { decimalScale: 2 };

/** Return what a number takes by what it is counted in. */
function counting({ unit }: Setting, isKept: boolean) {
  if (unit === "dollars") return { ...dollars, fixedDecimalScale: isKept };
  return unit === "share" ? share : { allowDecimal: false };
}

/** Return what a field shows; where words say what nothing means, it is empty. */
const shownOf = ({ usual }: Setting, saved: number | null) => (saved === 0 && usual ? "" : (saved ?? ""));

/** A number, which has its usual value when the field is empty; it is kept when the field is left. */
export function NumberSetting({ about, saved, save }: NumberSettingProps) {
  // What was typed and is not kept yet; null while the field shows what is kept.
  const [typed, setTyped] = useState<number | "" | null>(null);
  const [problem, setProblem] = useState("");
  const keep = () => {
    if (typed === null) return;
    setProblem("");
    save(typed === "" ? null : typed).then(
      // What was typed meanwhile stays.
      () => setTyped((now) => (now === typed ? null : now)),
      (error: unknown) => setProblem(errorText(error)),
    );
  };
  return (
    <NumberInput
      label={about.label}
      description={about.note}
      placeholder={about.usual}
      min={about.least ?? 1}
      {...(about.most === null ? {} : { max: about.most })}
      {...counting(about, typed === null)}
      thousandSeparator=","
      w="100%"
      // What was refused stays as it was typed; the nearest number may mean something else.
      clampBehavior="none"
      // An arrow would make 1 of nothing, and 1 day or 1 second is hardly meant.
      hideControls
      withKeyboardEvents={false}
      maw={320}
      value={typed ?? shownOf(about, saved)}
      error={problem}
      onChange={(value) => setTyped(numberOrNothing(value))}
      onBlur={keep}
      onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
    />
  );
}
