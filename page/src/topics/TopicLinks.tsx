import { TopicIcon } from "../shell/icons";
import { navigate, topicPath, topicsPath, useRoute } from "../shell/router";
import { useApp } from "../store/store";
import classes from "./Topics.module.css";

/** How many topics the list of conversations begins with; the rest have a page. */
const SHOWN = 6;

interface LinkProps {
  path: string;
  isCurrent: boolean;
  name: string;
  count?: number;
}

function Link({ path, isCurrent, name, count }: LinkProps) {
  return (
    <li>
      <a
        className={classes.link}
        href={path}
        title={name}
        aria-current={isCurrent ? "page" : undefined}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
          event.preventDefault();
          navigate(path);
        }}
      >
        <TopicIcon size={15} />
        <span className={classes.linkName}>{name}</span>
        {count !== undefined && (
          <span className={classes.count}>
            {count}
            <span className="ph-hidden"> {count === 1 ? "conversation" : "conversations"}</span>
          </span>
        )}
      </a>
    </li>
  );
}

/** The topics above the list of conversations; nothing for whoever has none. */
export function TopicLinks() {
  const topics = useApp((state) => state.topics);
  const route = useRoute();
  const current = route.page === "topic" ? route.topicId : undefined;
  if (!topics.length) return null;
  const shown = topics.length > SHOWN + 1 ? topics.slice(0, SHOWN) : topics;
  return (
    <section className={classes.links} aria-label="Topics">
      <h2 className="ph-group-name" style={{ margin: "12px 8px 4px" }}>
        Topics
      </h2>
      <ul className={classes.rows}>
        {shown.map(({ id, name, conversations }) => (
          <Link key={id} path={topicPath(id)} isCurrent={current === id} name={name} count={conversations} />
        ))}
        {shown.length < topics.length && (
          <Link path={topicsPath} isCurrent={current === null} name={`All ${topics.length} topics`} />
        )}
      </ul>
    </section>
  );
}
