import { Button, Group, Popover, Text } from "@mantine/core";
import { useState, type ReactElement } from "react";
import { tell } from "../shell/messages";

interface ConfirmProps {
  question: string;
  action: string;
  cancel?: string;
  onConfirm: () => Promise<unknown>;
  children: (ask: () => void) => ReactElement;
}

/** Asks once, beside the button that was pressed. */
export function Confirm({ question, action, cancel = "Keep", onConfirm, children }: ConfirmProps) {
  const [opened, setOpened] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const confirm = () => {
    setBusy(true);
    onConfirm()
      .catch(tell)
      .finally(() => {
        setBusy(false);
        setOpened(false);
      });
  };
  return (
    <Popover opened={opened} onChange={setOpened} width={260} position="bottom-end" trapFocus returnFocus withArrow shadow="md">
      <Popover.Target>{children(() => setOpened(!opened))}</Popover.Target>
      <Popover.Dropdown aria-label={question}>
        <Text size="sm" mb="sm">
          {question}
        </Text>
        <Group gap="xs" justify="flex-end">
          <Button size="compact-sm" variant="default" onClick={() => setOpened(false)}>
            {cancel}
          </Button>
          <Button size="compact-sm" color="red" loading={isBusy} onClick={confirm}>
            {action}
          </Button>
        </Group>
      </Popover.Dropdown>
    </Popover>
  );
}
