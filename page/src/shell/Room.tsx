import { ActionIcon, Title } from "@mantine/core";
import { useEffect, useMemo, useRef, type ReactNode } from "react";
import { useCommands, type Command } from "./commands";
import { CloseIcon } from "./icons";
import classes from "./Room.module.css";
import { leave } from "./start";

interface RoomProps {
  title: string;
  /** What leaves it: the command's id, its words and its group. */
  closing: Required<Pick<Command, "id" | "title" | "group">>;
  /** What stands beside the title. */
  tools?: ReactNode;
  className?: string | undefined;
  children: ReactNode;
}

/** A place beside the chat, with a title and the way back. */
export function Room({ title, closing, tools, className, children }: RoomProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { id, title: words, group } = closing;
  useCommands(useMemo(() => [{ id, title: words, keys: ["escape"], group, run: leave }], [id, words, group]));
  // Whoever comes here by keyboard starts at the top of what is new.
  useEffect(() => heading.current?.focus({ preventScroll: true }), [title]);
  return (
    <div className={classes.scroller}>
      <div className={`${classes.column} ${className ?? ""}`}>
        <header className={classes.head}>
          <Title order={1} size="h3" ref={heading} tabIndex={-1} className={classes.heading}>
            {title}
          </Title>
          {tools}
          <ActionIcon size="lg" aria-label={words} onClick={leave}>
            <CloseIcon />
          </ActionIcon>
        </header>
        {children}
      </div>
    </div>
  );
}
