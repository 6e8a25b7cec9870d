import { Button, Textarea, TextInput } from "@mantine/core";
import { useEffect, useState, type FormEvent } from "react";
import { topicsApi } from "../api/topics";
import type { Conversation, Topic } from "../api/types";
import { ConversationRow } from "../conversations/ConversationRow";
import { Confirm } from "../settings/Confirm";
import { PlusIcon, TrashIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { Room } from "../shell/Room";
import { navigate, topicPath } from "../shell/router";
import { startNew } from "../shell/start";
import { setState, useApp } from "../store/store";
import { changeTopic, createTopic, deleteTopic, deletingWords } from "./actions";
import { TopicParts } from "./TopicParts";
import classes from "./Topics.module.css";

const closing = { id: "close-topic", title: "Close topics", group: "Topics" };

/** The conversations of a topic, most recently used first, as the list knows them and the server has them. */
function useConversations(topicId: string) {
  const [page, setPage] = useState<{ found: Conversation[]; next: string | null } | null>(null);
  const live = useApp((state) => state.conversations);
  const count = useApp((state) => state.topics.find(({ id }) => id === topicId)?.conversations);
  useEffect(() => {
    topicsApi.conversations(topicId).then(({ conversations, next }) => setPage({ found: conversations, next: next ?? null }), tell);
  }, [topicId, count]);
  const more = () => {
    if (!page?.next) return;
    topicsApi
      .conversations(topicId, page.next)
      .then(({ conversations, next }) => setPage({ found: [...page.found, ...conversations], next: next ?? null }), tell);
  };
  const newest = new Map(live.map((each) => [each.id, each]));
  const found = page?.found.map((each) => newest.get(each.id) ?? each).filter((each) => each.settings.topicId === topicId);
  return { found, hasMore: Boolean(page?.next), more };
}

function Conversations({ topic }: { topic: Topic }) {
  const { found, hasMore, more } = useConversations(topic.id);
  const begin = () => {
    startNew();
    setState((now) => ({ chosen: { ...now.chosen, topicId: topic.id } }));
  };
  return (
    <section aria-label="Conversations of this topic">
      <div className={classes.head}>
        <h2 className="ph-section-title">Conversations</h2>
        <Button size="compact-sm" variant="default" leftSection={<PlusIcon size={15} />} onClick={begin}>
          New in this topic
        </Button>
      </div>
      {found && !found.length && <p className={classes.quiet}>None yet. Begin one here, or choose this topic above a conversation.</p>}
      <ul className={classes.rows}>
        {found?.map((conversation) => (
          <ConversationRow key={conversation.id} conversation={conversation} />
        ))}
      </ul>
      {hasMore && (
        <Button variant="subtle" color="gray" size="xs" onClick={more}>
          Older conversations
        </Button>
      )}
    </section>
  );
}

/** Its name and what it is about; each is saved when it is left. */
function About({ topic }: { topic: Topic }) {
  const [name, setName] = useState(topic.name);
  const [description, setDescription] = useState(topic.description);
  const save = () => {
    const wanted = name.trim();
    if (!wanted) return setName(topic.name);
    if (wanted === topic.name && description.trim() === topic.description) return;
    changeTopic(topic.id, { name: wanted, description }).catch((error: unknown) => {
      setName(topic.name);
      tell(error);
    });
  };
  return (
    <>
      <TextInput label="Name" maxLength={80} value={name} onChange={(event) => setName(event.currentTarget.value)} onBlur={save} />
      <Textarea
        label="What it is about"
        autosize
        minRows={1}
        maxRows={6}
        maxLength={2000}
        placeholder="A sentence for you"
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
        onBlur={save}
      />
    </>
  );
}

function OneTopic({ topic }: { topic: Topic }) {
  const remove = (
    <Confirm question={deletingWords(topic)} action="Delete" onConfirm={() => deleteTopic(topic)}>
      {(ask) => (
        <Button size="compact-sm" variant="default" leftSection={<TrashIcon size={15} />} onClick={ask}>
          Delete
        </Button>
      )}
    </Confirm>
  );
  return (
    <Room title={topic.name} closing={closing} tools={remove}>
      <div className={classes.room}>
        <About key={topic.id} topic={topic} />
        <Conversations topic={topic} />
        <TopicParts topic={topic} />
      </div>
    </Room>
  );
}

function NewTopic() {
  const [name, setName] = useState("");
  const make = (event: FormEvent) => {
    event.preventDefault();
    if (!name.trim()) return;
    createTopic(name.trim()).then((made) => navigate(topicPath(made.id)), tell);
  };
  return (
    <form className={classes.bar} onSubmit={make}>
      <TextInput
        className={classes.grow ?? ""}
        label="New topic"
        placeholder="What conversations will share"
        maxLength={80}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Button type="submit" disabled={!name.trim()}>
        Make it
      </Button>
    </form>
  );
}

function AllTopics() {
  const topics = useApp((state) => state.topics);
  return (
    <Room title="Topics" closing={closing}>
      <div className={classes.room}>
        <p className={classes.quiet}>A topic is a named place that conversations share for memories, documents and todos.</p>
        <NewTopic />
        <ul className={classes.rows} aria-label="Topics">
          {topics.map(({ id, name, description, conversations }) => (
            <li key={id}>
              <a
                className={classes.link}
                href={topicPath(id)}
                onClick={(event) => {
                  event.preventDefault();
                  navigate(topicPath(id));
                }}
              >
                <span className={classes.linkName}>
                  {name}
                  {description && <span className={classes.count}> {description}</span>}
                </span>
                <span className={classes.count}>
                  {conversations} {conversations === 1 ? "conversation" : "conversations"}
                </span>
              </a>
            </li>
          ))}
        </ul>
      </div>
    </Room>
  );
}

/** A topic with what is in it, or all of them. */
export default function TopicRoom({ topicId }: { topicId: string | null }) {
  const topic = useApp((state) => state.topics.find((each) => each.id === topicId));
  if (topicId === null) return <AllTopics />;
  if (topic) return <OneTopic topic={topic} />;
  return (
    <Room title="Topics" closing={closing}>
      <p className={classes.quiet}>There is no such topic any more.</p>
    </Room>
  );
}
