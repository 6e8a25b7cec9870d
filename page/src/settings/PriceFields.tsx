import { NumberInput } from "@mantine/core";
import { numberOrNothing, type FieldsProps } from "./ModelFields";
import type { PriceDraft } from "./modelDraft";
import classes from "./Settings.module.css";

const names: readonly { name: keyof PriceDraft; label: string }[] = [
  { name: "input", label: "Input" },
  { name: "output", label: "Output" },
  { name: "cacheRead", label: "Read from the cache" },
  { name: "cacheWrite", label: "Written to the cache" },
];

/** What the model's tokens cost, for whoever knows it better. */
export function PriceFields({ draft, errors, onChange }: Pick<FieldsProps, "draft" | "errors" | "onChange">) {
  return (
    <fieldset className={`ph-fieldset ${classes.prices}`}>
      <legend>Prices, in dollars for a million tokens</legend>
      <p className="ph-explained">Left empty: as known of this model. The cache costs as much as input where you say nothing of it.</p>
      <div className={classes.pair}>
        {names.map(({ name, label }) => (
          <NumberInput
            key={name}
            label={label}
            prefix="$"
            min={0}
            decimalScale={6}
            hideControls
            value={draft.prices[name]}
            error={name === "input" && errors.prices}
            onChange={(value) => onChange({ ...draft, prices: { ...draft.prices, [name]: numberOrNothing(value) } })}
          />
        ))}
      </div>
    </fieldset>
  );
}
