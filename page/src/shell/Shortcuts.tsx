import { Modal } from "@mantine/core";
import { Fragment } from "react";
import classes from "./App.module.css";
import { keyLabel, useCommandList } from "./commands";

function Keys({ combinations }: { combinations: readonly string[] }) {
  return combinations.map((keys, at) => (
    <Fragment key={keys}>
      {at > 0 && " or "}
      <kbd>{keyLabel(keys)}</kbd>
    </Fragment>
  ));
}

/** The keys and what they do. */
export function Shortcuts({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const commands = useCommandList().filter((command) => command.keys?.length);
  return (
    <Modal opened={opened} onClose={onClose} title="Keyboard shortcuts">
      <dl className={classes.keys}>
        {commands.map((command) => (
          <Fragment key={command.id}>
            <dt>{command.title}</dt>
            <dd>
              <Keys combinations={command.keys ?? []} />
            </dd>
          </Fragment>
        ))}
      </dl>
    </Modal>
  );
}
