import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { WaitingLink } from "../approvals/WaitingLink";
import { keyLabel } from "../shell/commands";
import { CloseIcon, PlusIcon, SearchIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { startNew } from "../shell/start";
import { loadMoreConversations } from "../store/actions";
import { useApp } from "../store/store";
import { ConversationRow } from "./ConversationRow";
import { byDay } from "./days";
import { TopicLinks } from "../topics/TopicLinks";
import { SearchHits } from "./SearchHits";
import classes from "./Sidebar.module.css";

function ConversationList() {
  const conversations = useApp((state) => state.conversations);
  const next = useApp((state) => state.nextConversations);
  if (!conversations.length) return <p className={classes.quiet}>Your conversations will be listed here.</p>;
  return (
    <>
      <TopicLinks />
      {byDay(conversations, Date.now()).map((day) => (
        <section key={day.name} aria-label={day.name}>
          <h2 className={`ph-group-name ${classes.day}`}>{day.name}</h2>
          <ul className={classes.rows}>
            {day.conversations.map((conversation) => (
              <ConversationRow key={conversation.id} conversation={conversation} />
            ))}
          </ul>
        </section>
      ))}
      {next && (
        <Button variant="subtle" color="gray" size="xs" fullWidth onClick={() => void loadMoreConversations().catch(tell)}>
          Older conversations
        </Button>
      )}
    </>
  );
}

/** The left side: start a conversation, search them, go to one. */
export function Sidebar({ startsInSearch = false }: { startsInSearch?: boolean }) {
  const [query, setQuery] = useState("");
  return (
    <div className={classes.sidebar}>
      <div className={classes.head}>
        <span className={classes.name}>Pilothouse</span>
        <Button size="compact-sm" leftSection={<PlusIcon size={15} />} onClick={startNew} title={keyLabel("alt+n")}>
          New
        </Button>
      </div>
      <TextInput
        id="search"
        className={classes.search}
        size="xs"
        type="text"
        role="searchbox"
        data-autofocus={startsInSearch || undefined}
        aria-label="Search conversations"
        placeholder={`Search  (${keyLabel("mod+/")})`}
        leftSection={<SearchIcon size={15} />}
        rightSection={
          query && (
            <button type="button" className={classes.clear} aria-label="Clear the search" onClick={() => setQuery("")}>
              <CloseIcon size={14} />
            </button>
          )
        }
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !query) return;
          event.preventDefault();
          setQuery("");
        }}
      />
      <nav className={classes.list} aria-label={query.trim() ? "Search results" : "Conversations"}>
        {query.trim() ? <SearchHits query={query.trim()} /> : <ConversationList />}
      </nav>
      <WaitingLink />
    </div>
  );
}
