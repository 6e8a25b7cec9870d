import { ActionIcon, Tooltip } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { CheckIcon, CopyIcon } from "./icons";

/** Copies a text exactly as it is. */
export function CopyButton({ value, label }: { value: string; label: string }) {
  const { copied, copy } = useClipboard({ timeout: 1_500 });
  const name = copied ? "Copied" : label;
  return (
    <Tooltip label={name}>
      <ActionIcon size="sm" aria-label={name} onClick={() => copy(value)}>
        {copied ? <CheckIcon size={15} /> : <CopyIcon size={15} />}
      </ActionIcon>
    </Tooltip>
  );
}
