import { Select } from "@mantine/core";
import { useState } from "react";
import { Unfold } from "../shell/More";
import { NativeTools } from "../shell/NativeTools";
import { isUsual, type ModelDraft } from "./modelDraft";
import type { FieldsProps } from "./ModelFields";
import { PriceFields } from "./PriceFields";

const ways: readonly { value: ModelDraft["toolCalls"]; label: string }[] = [
  { value: "auto", label: "As the provider does, else in text" },
  { value: "native", label: "Only as the provider does" },
  { value: "text", label: "In the text of its answer" },
  { value: "constrained", label: "In text that the provider keeps to a schema" },
];

/** What few people change: how the model calls tools, which of its provider's own it has, and what it costs. */
export function MoreFields({ draft, errors, onChange }: FieldsProps) {
  const [isOpen, setOpen] = useState(() => !isUsual(draft));
  return (
    <>
      <Unfold isOpen={isOpen} onToggle={() => setOpen(!isOpen)}>
        More
      </Unfold>
      {isOpen && (
        <>
          <Select
            label="Calls tools"
            data={[...ways]}
            value={draft.toolCalls}
            allowDeselect={false}
            onChange={(value) => value && onChange({ ...draft, toolCalls: value as ModelDraft["toolCalls"] })}
          />
          <NativeTools
            value={draft.nativeTools}
            note="They run at the provider. Most are off there by default, and some cost extra."
            onChange={(nativeTools) => onChange({ ...draft, nativeTools })}
          />
          <PriceFields draft={draft} errors={errors} onChange={onChange} />
        </>
      )}
    </>
  );
}
