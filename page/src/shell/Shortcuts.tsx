import { Modal } from "@mantine/core";
import { Fragment } from "react";
import { boxKeys, useEnterSends } from "../composer/keys";
import classes from "./App.module.css";
import { keyLabel, useCommandList, type Command } from "./commands";

function Keys({ combinations }: { combinations: readonly string[] }) {
  return combinations.map((keys, at) => (
    <Fragment key={keys}>
      {at > 0 && " or "}
      <kbd>{keyLabel(keys)}</kbd>
    </Fragment>
  ));
}

interface ListedKeys {
  id: string;
  title: string;
  keys: readonly string[];
}

/** Return every command that has keys; among them what Enter does in the message box, which hears it itself. */
function withBox(commands: readonly Command[], enterSends: boolean): ListedKeys[] {
  const { send, breaks } = boxKeys(enterSends);
  return commands.flatMap(({ id, title, keys = [] }) => {
    if (id === "send") return [{ id, title, keys: send }, { id: "break", title: "Break the line", keys: [breaks] }];
    return keys.length ? [{ id, title, keys }] : [];
  });
}

/** The keys and what they do. */
export function Shortcuts({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const rows = withBox(useCommandList(), useEnterSends());
  return (
    <Modal opened={opened} onClose={onClose} title="Keyboard shortcuts">
      <dl className={classes.keys}>
        {rows.map(({ id, title, keys }) => (
          <Fragment key={id}>
            <dt>{title}</dt>
            <dd>
              <Keys combinations={keys} />
            </dd>
          </Fragment>
        ))}
      </dl>
    </Modal>
  );
}
