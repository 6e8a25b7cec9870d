import { ActionIcon, Title } from "@mantine/core";
import { useEffect, useMemo, useRef, type MouseEvent } from "react";
import type { PendingApproval } from "../api/authority";
import { Exactly } from "../calls/Exactly";
import { useNow } from "../chat/Elapsed";
import { Seen } from "../servers/Plain";
import { age, counted } from "../servers/words";
import { useCommands, type Command } from "../shell/commands";
import { CloseIcon, QuestionIcon, WarningIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import { itemPath, navigate } from "../shell/router";
import { leave } from "../shell/start";
import { useApp } from "../store/store";
import { askedOf } from "./asked";
import { questionOf, refreshWaiting } from "./waiting";
import classes from "./Waiting.module.css";

function go(event: MouseEvent, path: string): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  navigate(path);
}

/** What a question is about, in one line of its own. */
function subject({ data }: PendingApproval): string {
  if (data.kind !== "approval") return "";
  const asked = askedOf(data);
  if (asked.command) return asked.command.text || asked.command.argv.join(" ");
  return asked.paths.map(({ path }) => path).join(", ") || asked.destination;
}

function Row({ one, now }: { one: PendingApproval; now: number }) {
  const isDangerous = one.data.kind === "approval" && askedOf(one.data).dangerous !== "";
  const path = itemPath(one.conversationId, one.itemId);
  const about = subject(one);
  return (
    <li>
      <a className={classes.row} href={path} data-dangerous={isDangerous || undefined} onClick={(event) => go(event, path)}>
        {isDangerous ? <WarningIcon size={16} /> : <QuestionIcon size={16} />}
        <span className={classes.about}>
          <span>
            <Seen text={questionOf(one)} />
          </span>
          {about && (
            <code className={classes.subject}>
              <Exactly value={about} />
            </code>
          )}
        </span>
        <span className={classes.age}>{age(now - one.at)}</span>
      </a>
    </li>
  );
}

interface Place {
  id: string;
  title: string;
  questions: PendingApproval[];
}

/** Group questions by their conversation, the one that waits longest first. */
export function byConversation(pending: readonly PendingApproval[]): Place[] {
  const places = new Map<string, Place>();
  for (const one of pending) {
    const place = places.get(one.conversationId) ?? { id: one.conversationId, title: one.title, questions: [] };
    place.questions.push(one);
    places.set(one.conversationId, place);
  }
  return [...places.values()];
}

/** Everything that waits for the person, in whichever conversation. */
export default function WaitingRoom() {
  const waiting = useApp((state) => state.waiting);
  const now = useNow(10_000) / 1000;
  const heading = useRef<HTMLHeadingElement>(null);
  const commands = useMemo<Command[]>(
    () => [{ id: "close-waiting", title: "Back to the chat", keys: ["escape"], group: "Chat", run: leave }],
    [],
  );
  useCommands(commands);
  useEffect(() => {
    // Whoever comes here by keyboard starts at the top of what is new.
    heading.current?.focus({ preventScroll: true });
    refreshWaiting().catch(tell);
  }, []);
  return (
    <div className={classes.scroller}>
      <div className={classes.column}>
        <header className={classes.head}>
          <Title order={1} size="h3" ref={heading} tabIndex={-1} className={classes.heading}>
            Waiting for you
          </Title>
          <ActionIcon size="lg" aria-label="Back to the chat" onClick={leave}>
            <CloseIcon />
          </ActionIcon>
        </header>
        <p className={classes.count} role="status">
          {waiting.length ? `${counted(waiting.length, "question")}${waiting.length > 1 ? ", the oldest first" : ""}.` : "Nothing waits for you."}
        </p>
        {byConversation(waiting).map((place) => (
          <section key={place.id} aria-label={place.title || "New conversation"}>
            <h2 className={classes.place}>{place.title || "New conversation"}</h2>
            <ul className={classes.rows}>
              {place.questions.map((one) => (
                <Row key={one.itemId} one={one} now={now} />
              ))}
            </ul>
          </section>
        ))}
      </div>
    </div>
  );
}
