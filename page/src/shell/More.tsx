import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { ChevronIcon } from "./icons";
import classes from "./More.module.css";

interface UnfoldProps {
  isOpen: boolean;
  onToggle: () => void;
  children: ReactNode;
}

/** Shows and hides the fields that few people need. */
export function Unfold({ isOpen, onToggle, children }: UnfoldProps) {
  const chevron = (
    <span className={classes.chevron} data-open={isOpen || undefined}>
      <ChevronIcon size={14} />
    </span>
  );
  return (
    <Button variant="subtle" color="gray" size="compact-sm" className={classes.unfold} aria-expanded={isOpen} leftSection={chevron} onClick={onToggle}>
      {children}
    </Button>
  );
}

/** Asks for those of a long list that are not drawn yet; nothing when all are. */
export function ShowMore({ left, word = "more", onMore }: { left: number; word?: string; onMore: () => void }) {
  if (left <= 0) return null;
  return (
    <Button variant="default" size="xs" onClick={onMore}>
      {left} {word}
    </Button>
  );
}
