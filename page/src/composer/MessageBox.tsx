import { Textarea } from "@mantine/core";
import { memo, useLayoutEffect, useRef, type ClipboardEvent, type KeyboardEvent, type RefObject } from "react";
import classes from "./Composer.module.css";

interface Handlers {
  setText: (text: string) => void;
  onKeyDown: (event: KeyboardEvent) => void;
  onPaste: (event: ClipboardEvent) => void;
}

interface MessageBoxProps {
  box: RefObject<HTMLTextAreaElement | null>;
  text: string;
  placeholder: string;
  on: RefObject<Handlers>;
}

/** Return what to do with what happens in the box, in one place that stays while that changes. */
export function useHandlers(now: Handlers): RefObject<Handlers> {
  const on = useRef(now);
  useLayoutEffect(() => {
    on.current = now;
  });
  return on;
}

/** The box itself. Each time it is drawn it measures its text, and the browser lays the whole page out: only for another text. */
export const MessageBox = memo(({ box, text, placeholder, on }: MessageBoxProps) => (
  <Textarea
    id="composer"
    ref={box}
    variant="unstyled"
    autosize
    minRows={1}
    maxRows={12}
    aria-label="Message"
    placeholder={placeholder}
    value={text}
    classNames={{ input: classes.input ?? "" }}
    onChange={(event) => on.current.setText(event.currentTarget.value)}
    onKeyDown={(event) => on.current.onKeyDown(event)}
    onPaste={(event) => on.current.onPaste(event)}
  />
));
