import { ActionIcon, Button, Menu } from "@mantine/core";
import { memo, useEffect, useRef, useState } from "react";
import { whenDrawn } from "../chat/useFollow";
import { CheckIcon, CloseIcon, PlusIcon } from "../shell/icons";
import { modelName } from "../shell/ModelSelector";
import { focusComposer } from "../shell/start";
import { setState, useApp } from "../store/store";
import { choose, MOST_COMPARED } from "./actions";
import classes from "./Compare.module.css";

/** A dialog takes as long to go. */
const LED_MS = 150;

function Chosen({ id }: { id: string }) {
  const name = useApp((state) => modelName(state, id));
  return (
    <li className={classes.chip}>
      <span>{name}</span>
      <button type="button" aria-label={`Without ${name}`} onClick={() => choose(id, false)}>
        <CloseIcon size={12} />
      </button>
    </li>
  );
}

/** The list to choose from; it is open from the start, until there is something to compare. */
function Choices({ compared }: { compared: readonly string[] }) {
  const models = useApp((state) => state.models.models);
  const [opened, setOpened] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  // Once what led here, a menu or the palette, has gone and given its focus back.
  useEffect(() => {
    const timer = setTimeout(() => setOpened(true), LED_MS);
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => {
    if (opened) whenDrawn(() => list.current?.querySelector<HTMLElement>("[role=menuitemcheckbox]")?.focus());
  }, [opened]);
  const isFull = compared.length >= MOST_COMPARED;
  useEffect(() => {
    // An item that is disabled loses the focus, and with no focus in the menu Escape would not close it.
    const focused = list.current?.querySelector(":focus");
    if (isFull && focused?.matches(":disabled")) list.current?.querySelector<HTMLElement>("[aria-checked=true]")?.focus();
  }, [isFull]);
  return (
    <Menu position="top-start" width={300} closeOnItemClick={false} opened={opened} onChange={setOpened} onClose={focusComposer}>
      <Menu.Target>
        <Button size="compact-xs" variant="subtle" color="gray" leftSection={<PlusIcon size={14} />}>
          Choose models
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{isFull ? `At most ${MOST_COMPARED} at once` : `Two or ${MOST_COMPARED} models answer side by side`}</Menu.Label>
        <div ref={list} className={classes.choices}>
          {models.map(({ id, name, priceLabel }) => {
            const isChosen = compared.includes(id);
            return (
              <Menu.CheckboxItem
                key={id}
                className="ph-menu-item"
                checked={isChosen}
                checkIcon={<CheckIcon size={16} />}
                disabled={isFull && !isChosen}
                onChange={(now) => choose(id, now)}
              >
                {name}
                {priceLabel && <div className="ph-menu-note">{priceLabel}</div>}
              </Menu.CheckboxItem>
            );
          })}
        </div>
      </Menu.Dropdown>
    </Menu>
  );
}

/** The models that answer the next message side by side, in the box above it; nothing while it is for one. */
export const ComparedModels = memo(() => {
  const compared = useApp((state) => state.compared);
  if (!compared) return null;
  return (
    <div className={classes.strip} role="group" aria-label="Models to compare">
      <span className={classes.stripName}>Compare</span>
      <ul className={classes.chips}>
        {compared.map((id) => (
          <Chosen key={id} id={id} />
        ))}
      </ul>
      <Choices compared={compared} />
      <span className="ph-space" />
      <ActionIcon size="sm" aria-label="Do not compare" onClick={() => setState({ compared: null })}>
        <CloseIcon size={14} />
      </ActionIcon>
    </div>
  );
});
