import type { UserMessageItem } from "../api/types";
import { EditMessage } from "../branches/EditMessage";
import { MessageActions } from "../branches/MessageActions";
import { partsOf } from "../calls/call";
import { DocumentCard } from "../documents/DocumentCard";
import cards from "../documents/Documents.module.css";
import { useApp } from "../store/store";
import classes from "./Chat.module.css";
import { LongText } from "./LongText";
import { Picture } from "./Picture";

/** A longer message is shown by its beginning. */
const LONG_MESSAGE = 6_000;
/** As large as a glance needs. */
const THUMBNAIL = { width: 220, height: 180 };

function Bubble({ item }: { item: UserMessageItem }) {
  const images = partsOf(item).filter((part) => part.kind === "image");
  const documents = item.data.documents ?? [];
  return (
    <div className={classes.user}>
      <h2 className="ph-hidden">You</h2>
      {images.length > 0 && (
        <div className={classes.pictures}>
          {images.map((part) => (
            <Picture key={part.index} itemId={item.id} part={part} alt={part.name || "Attached by you"} box={THUMBNAIL} />
          ))}
        </div>
      )}
      {documents.length > 0 && (
        <ul className={`${cards.cards} ${classes.documents}`} aria-label="Attached documents">
          {documents.map((document) => (
            <li key={document.id}>
              <DocumentCard document={document} />
            </li>
          ))}
        </ul>
      )}
      {item.text.length > LONG_MESSAGE ? (
        <LongText text={item.text} label="Message" />
      ) : (
        <div className={classes.userText}>{item.text}</div>
      )}
    </div>
  );
}

/** What the person wrote, as they wrote it, and what can be done about it. */
export function UserMessage({ item }: { item: UserMessageItem }) {
  const isEdited = useApp((state) => state.editing === item.id);
  if (isEdited) return <EditMessage item={item} />;
  return (
    <div className={classes.own}>
      <Bubble item={item} />
      <MessageActions item={item} />
    </div>
  );
}
