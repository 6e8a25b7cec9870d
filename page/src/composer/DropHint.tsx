import { useEffect, useState } from "react";
import classes from "./DropHint.module.css";
import { drop, dropHint, hasFiles, hover } from "./drops";

/** Browsers tell at least this often that something is dragged; silence means it has gone. */
const SILENCE_MS = 600;

/** Watches what is dragged over the page: nothing that is dropped leads away from it, and files show where they go. */
export function DropHint() {
  const [isDragging, setDragging] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = () => {
      clearTimeout(timer);
      setDragging(false);
    };
    const onOver = (event: DragEvent) => {
      hover(event);
      if (!hasFiles(event)) return;
      setDragging(true);
      clearTimeout(timer);
      timer = setTimeout(end, SILENCE_MS);
    };
    const onDrop = (event: DragEvent) => {
      end();
      drop(event);
    };
    window.addEventListener("dragover", onOver);
    window.addEventListener("drop", onDrop);
    return () => {
      end();
      window.removeEventListener("dragover", onOver);
      window.removeEventListener("drop", onDrop);
    };
  }, []);
  if (!isDragging) return null;
  return (
    <div className={classes.hint} role="status">
      <p>{dropHint()}</p>
    </div>
  );
}
