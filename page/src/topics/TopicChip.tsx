import { Button, Combobox, InputBase, Popover, Select, Tooltip, UnstyledButton, useCombobox } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import folder from "../shell/Folder.module.css";
import { CheckIcon, PlusIcon, TopicIcon } from "../shell/icons";
import { PageLink } from "../shell/links";
import { tell } from "../shell/messages";
import { topicPath } from "../shell/router";
import { changeSettings } from "../store/actions";
import { settingsNow } from "../store/settings";
import { useApp } from "../store/store";
import { takeTodos } from "../store/todos";
import { createTopic, putIntoTopic } from "./actions";
import classes from "./Topics.module.css";

const NEW = "new topic";

/** Show the todos of the place that the conversation was moved to. */
function useTodosOfTopic(): void {
  const id = useApp((state) => state.open?.conversation.id ?? null);
  const topicId = useApp((state) => state.open?.conversation.settings.topicId ?? null);
  const known = useRef({ id, topicId });
  useEffect(() => {
    const before = known.current;
    known.current = { id, topicId };
    // A conversation that was just opened has brought them along.
    if (id && before.id === id && before.topicId !== topicId) takeTodos(id).catch(tell);
  }, [id, topicId]);
}

/** Choose a topic by typing, or make one. */
function Chooser({ onDone }: { onDone: () => void }) {
  const topics = useApp((state) => state.topics);
  const topicId = useApp((state) => settingsNow(state).topicId);
  const [typed, setTyped] = useState("");
  const combobox = useCombobox({ defaultOpened: true });
  const wanted = typed.trim();
  const found = topics.filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase()));
  const isNew = wanted !== "" && !topics.some(({ name }) => name.toLowerCase() === wanted.toLowerCase());
  // Enter takes the first of what is shown by now.
  useEffect(() => void (wanted ? combobox.selectFirstOption() : combobox.resetSelectedOption()), [wanted, found.length]);
  const put = (id: string) => {
    const chosen = id === NEW ? createTopic(wanted).then((made) => made.id) : Promise.resolve(id);
    chosen.then(putIntoTopic).then(onDone, tell);
  };
  return (
    <Combobox store={combobox} withinPortal={false} onOptionSubmit={put}>
      <Combobox.Target>
        <InputBase
          data-autofocus
          label="Topic"
          description="Conversations of a topic share memories, documents and todos."
          placeholder="Find one, or type a new name"
          maxLength={80}
          value={typed}
          onChange={(event) => {
            setTyped(event.currentTarget.value);
            combobox.openDropdown();
          }}
        />
      </Combobox.Target>
      <Combobox.Options aria-label="Topics" mah={240} style={{ overflowY: "auto" }}>
        {found.map(({ id, name }) => (
          <Combobox.Option key={id} value={id} active={id === topicId} className="ph-menu-item">
            {id === topicId && <CheckIcon size={14} />} {name}
          </Combobox.Option>
        ))}
        {isNew && (
          <Combobox.Option value={NEW} className="ph-menu-item">
            <PlusIcon size={14} /> Make the topic “{wanted}”
          </Combobox.Option>
        )}
        {!found.length && !isNew && <Combobox.Empty>There are no topics yet.</Combobox.Empty>}
      </Combobox.Options>
    </Combobox>
  );
}

/** The same where there is no room for it above the conversation; making topics has a page of its own. */
export function TopicField({ id }: { id: string | null }) {
  const topics = useApp((state) => state.topics);
  const topicId = useApp((state) => settingsNow(state).topicId);
  return (
    <Select
      label="Topic"
      description="Conversations of a topic share memories, documents and todos."
      placeholder="None"
      clearable
      searchable
      nothingFoundMessage="There is no such topic."
      comboboxProps={{ withinPortal: false }}
      data={topics.map(({ id: value, name }) => ({ value, label: name }))}
      value={topicId}
      onChange={(value) => void changeSettings({ topicId: value }, id).catch(tell)}
    />
  );
}

/** Shows which topic this conversation is in, and changes it. */
export function TopicChip() {
  const [opened, setOpened] = useState(false);
  const topicId = useApp((state) => settingsNow(state).topicId);
  const topic = useApp((state) => state.topics.find((each) => each.id === topicId) ?? null);
  useTodosOfTopic();
  const close = () => setOpened(false);
  return (
    <Popover opened={opened} onChange={setOpened} width={300} position="bottom-end" trapFocus returnFocus>
      <Popover.Target>
        <Tooltip label={topic ? `Topic: ${topic.name}` : "No topic"} disabled={opened}>
          <UnstyledButton
            className={`${folder.chip} ${classes.chip}`}
            aria-label={topic ? `Topic: ${topic.name}` : "no topic: choose one"}
            onClick={() => setOpened(!opened)}
          >
            <TopicIcon size={16} />
            {topic && <span className={folder.name}>{topic.name}</span>}
          </UnstyledButton>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown aria-label="Topic">
        <div className={classes.chooser}>
          <Chooser onDone={close} />
          {topic && (
            <div className="ph-actions">
              <PageLink path={topicPath(topic.id)}>Show the topic</PageLink>
              <Button size="compact-sm" variant="default" onClick={() => void putIntoTopic(null).then(close, tell)}>
                Take it out
              </Button>
            </div>
          )}
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}
