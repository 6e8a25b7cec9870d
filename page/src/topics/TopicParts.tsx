import type { Topic } from "../api/types";
import classes from "./Topics.module.css";

const words = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

/** What the conversations of a topic share: how much of each there is. Lists of it stand here, one section for each kind. */
export function TopicParts({ topic }: { topic: Topic }) {
  return (
    <section aria-label="What is shared">
      <h2 className="ph-section-title">Shared</h2>
      <ul className={classes.facts}>
        <li>{words(topic.todos, "todo", "todos")}</li>
        <li>{words(topic.memories, "memory", "memories")}</li>
        <li>{words(topic.documents, "document", "documents")}</li>
      </ul>
    </section>
  );
}
