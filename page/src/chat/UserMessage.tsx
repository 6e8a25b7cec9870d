import type { Item } from "../api/types";
import { rasterUrl } from "../markdown/raster";
import classes from "./Chat.module.css";
import { imagesOf } from "./data";
import { LongText } from "./LongText";

/** A longer message is shown by its beginning. */
const LONG_MESSAGE = 6_000;

function Picture({ base64 }: { base64: string }) {
  const url = rasterUrl(base64);
  if (!url) return <span className={classes.quiet}>An image that cannot be shown.</span>;
  return <img className={classes.attached} src={url} alt="Attached by you" />;
}

/** What the person wrote, as they wrote it. */
export function UserMessage({ item }: { item: Item }) {
  const images = imagesOf(item);
  return (
    <div className={classes.user}>
      <h2 className={classes.hidden}>You</h2>
      {images.length > 0 && (
        <div className={classes.pictures}>
          {images.map((base64, at) => (
            <Picture key={at} base64={base64} />
          ))}
        </div>
      )}
      {item.text.length > LONG_MESSAGE ? (
        <LongText text={item.text} label="Message" />
      ) : (
        <div className={classes.userText}>{item.text}</div>
      )}
    </div>
  );
}
