import { useEffect, type MouseEvent } from "react";
import type { PendingApproval } from "../api/authority";
import type { QuestionItem } from "../api/types";
import { Question } from "../chat/Question";
import { useNow } from "../chat/Elapsed";
import { age, counted } from "../servers/words";
import { tell } from "../shell/messages";
import { Room } from "../shell/Room";
import { itemPath, navigate } from "../shell/router";
import { useApp } from "../store/store";
import { ApprovalCard } from "./ApprovalCard";
import { decisionsOf, isAboutCalls, type Decision } from "./decisions";
import { refreshWaiting } from "./waiting";
import classes from "./Waiting.module.css";

function go(event: MouseEvent, path: string): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  navigate(path);
}

/** Return a question of the list as the item that its conversation has. */
function itemOf(one: PendingApproval): QuestionItem {
  const { itemId: id, conversationId, text, at, data } = one;
  return { kind: "question", id, conversationId, runId: null, branch: 0, position: 0, status: "waiting", text, data, createdAt: at, updatedAt: at };
}

/** The same card as above the message box: it answers in its place. */
function Answerable({ decision }: { decision: Decision }) {
  if (isAboutCalls(decision)) return <ApprovalCard items={decision.items} />;
  return <Question item={decision.items[0]} />;
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

function PlaceView({ place, now }: { place: Place; now: number }) {
  const name = place.title || "New conversation";
  const [first] = place.questions;
  const path = itemPath(place.id, first?.itemId ?? "");
  return (
    <section aria-label={name}>
      <h2 className={classes.place}>
        <a href={path} onClick={(event) => go(event, path)}>
          {name}
        </a>
        {first && <span className={classes.age}>{age(now - first.at)}</span>}
      </h2>
      <ul className={classes.rows}>
        {decisionsOf(place.questions.map(itemOf)).map((decision) => (
          <li key={decision.key}>
            <Answerable decision={decision} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const closing = { id: "close-waiting", title: "Back to the chat", group: "Chat" };

/** Everything that waits for the person, in whichever conversation. */
export default function WaitingRoom() {
  const waiting = useApp((state) => state.waiting);
  const now = useNow(10_000) / 1000;
  useEffect(() => void refreshWaiting().catch(tell), []);
  return (
    <Room title="Waiting for you" closing={closing}>
      <p className="ph-lead" role="status">
        {waiting.length ? `${counted(waiting.length, "question")}${waiting.length > 1 ? ", the oldest first" : ""}.` : "Nothing waits for you."}
      </p>
      <div data-column>
        {byConversation(waiting).map((place) => (
          <PlaceView key={place.id} place={place} now={now} />
        ))}
      </div>
    </Room>
  );
}
