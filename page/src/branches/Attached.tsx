import { UnstyledButton } from "@mantine/core";
import type { UserMessageItem } from "../api/types";
import { partsOf } from "../calls/call";
import { CloseIcon, FileIcon, ImageIcon, UndoIcon } from "../shell/icons";
import classes from "./Branches.module.css";

/** Something that was attached to a message: a picture by its index, or a document by its id. */
export interface Attachment {
  key: string;
  name: string;
  picture: number | null;
}

/** Return what was attached to a message. */
export function attachedTo(item: UserMessageItem): Attachment[] {
  const images = partsOf(item).filter((part) => part.kind === "image");
  return [
    ...images.map(({ name, index }, at) => ({ key: `picture ${index}`, name: name || `Image ${at + 1}`, picture: index })),
    ...(item.data.documents ?? []).map(({ id, name }) => ({ key: id, name, picture: null })),
  ];
}

/** Return how a message says what of another one's attachments it leaves out. */
export function dropping(attached: readonly Attachment[], dropped: ReadonlySet<string>) {
  const left = attached.filter(({ key }) => dropped.has(key));
  return {
    dropPictures: left.flatMap(({ picture }) => (picture === null ? [] : [picture])),
    dropDocuments: left.filter(({ picture }) => picture === null).map(({ key }) => key),
  };
}

interface AttachedProps {
  attached: readonly Attachment[];
  dropped: ReadonlySet<string>;
  onToggle: (key: string) => void;
}

/** What stays with a message that is edited; each is left out, and taken back, by itself. */
export function Attached({ attached, dropped, onToggle }: AttachedProps) {
  if (!attached.length) return null;
  return (
    <ul className={classes.attached} aria-label="Attachments">
      {attached.map(({ key, name, picture }) => {
        const isDropped = dropped.has(key);
        const label = isDropped ? `Keep ${name} after all` : `Leave out ${name}`;
        return (
          <li key={key} className={classes.chip} data-dropped={isDropped || undefined}>
            {picture === null ? <FileIcon size={15} /> : <ImageIcon size={15} />}
            <span className={classes.chipName} title={name}>
              {name}
            </span>
            {isDropped && <span className="ph-hidden">is left out</span>}
            <UnstyledButton className={classes.chipButton} aria-label={label} title={label} onClick={() => onToggle(key)}>
              {isDropped ? <UndoIcon size={13} /> : <CloseIcon size={13} />}
            </UnstyledButton>
          </li>
        );
      })}
    </ul>
  );
}
