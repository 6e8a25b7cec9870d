import { notifications } from "@mantine/notifications";
import { topicsApi } from "../api/topics";
import type { Topic } from "../api/types";
import { UndoToast } from "../conversations/UndoToast";
import { tell } from "../shell/messages";
import { navigate, topicPath, topicsPath } from "../shell/router";
import { changeSettings } from "../store/actions";
import { setState } from "../store/store";

const byName = (a: Topic, b: Topic) => a.name.localeCompare(b.name);

function show(topic: Topic): Topic {
  setState((now) => ({ topics: [...now.topics.filter((each) => each.id !== topic.id), topic].sort(byName) }));
  return topic;
}

/** Make a topic. */
export const createTopic = async (name: string) => show(await topicsApi.create(name));

/** The last change of each topic. */
const changes = new Map<string, Promise<unknown>>();

/** Rename or describe a topic, after earlier changes of it: on their way to the server, requests may overtake each other. */
export function changeTopic(id: string, change: { name?: string; description?: string }): Promise<Topic> {
  const send = async () => show(await topicsApi.change(id, change));
  const changed = (changes.get(id) ?? Promise.resolve()).then(send, send);
  changes.set(id, changed);
  return changed;
}

/** Put this conversation into a topic, or out of it. */
export const putIntoTopic = (topicId: string | null) => changeSettings({ topicId });

/** Delete a topic, and offer it back for a while. */
export async function deleteTopic(topic: Topic): Promise<void> {
  await topicsApi.remove(topic.id);
  setState((now) => ({ topics: now.topics.filter((each) => each.id !== topic.id) }));
  navigate(topicsPath);
  const toast = `deleted-${topic.id}`;
  const undo = () => {
    notifications.hide(toast);
    topicsApi
      .restore(topic.id)
      .then((back) => {
        show(back);
        navigate(topicPath(back.id));
      })
      .catch(tell);
  };
  notifications.show({
    id: toast,
    message: <UndoToast said={`Deleted “${topic.name}”.`} onUndo={undo} />,
    autoClose: 12_000,
    withCloseButton: true,
  });
}

const counted = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

/** Return what happens when a topic is deleted, before it is. */
export function deletingWords({ name, conversations, memories, documents, todos }: Topic): string {
  const inside = [
    memories && counted(memories, "memory", "memories"),
    documents && counted(documents, "document", "documents"),
    todos && counted(todos, "todo", "todos"),
  ].filter(Boolean);
  const stays = conversations
    ? ` ${conversations === 1 ? "Its conversation stays and leaves" : `Its ${conversations} conversations stay and leave`} it.`
    : "";
  const goes = inside.length ? ` No conversation sees its ${inside.join(", ")} any more.` : "";
  return `Delete the topic “${name}”?${stays}${goes} You can bring it back for 30 days.`;
}
