import { useState, type ReactNode } from "react";
import { ChevronIcon } from "../shell/icons";
import classes from "./Chat.module.css";

/** Hears that something is opened or closed. */
export type Toggled = ((isOpen: boolean) => void) | undefined;

interface FoldProps {
  icon?: ReactNode;
  summary: ReactNode;
  /** Stands beside the line, and is not part of what opens it. */
  aside?: ReactNode;
  tone?: "quiet" | "good" | "bad" | "warning";
  /** Takes the whole width, with what opens it at the end. */
  isWide?: boolean;
  onToggle?: Toggled;
  children: () => ReactNode;
}

/** One quiet line that opens. */
export function Fold({ icon, summary, aside, tone = "quiet", isWide, onToggle, children }: FoldProps) {
  const [isOpen, setOpen] = useState(false);
  const toggle = () => {
    setOpen(!isOpen);
    onToggle?.(!isOpen);
  };
  return (
    <div className={classes.fold} data-tone={tone} data-wide={isWide || undefined}>
      <div className={classes.foldLine}>
        <button type="button" className={classes.foldButton} aria-expanded={isOpen} onClick={toggle}>
          {icon && <span className={classes.foldIcon}>{icon}</span>}
          <span className={classes.foldText}>{summary}</span>
          <span className={classes.chevron} data-open={isOpen || undefined}>
            <ChevronIcon size={14} />
          </span>
        </button>
        {aside}
      </div>
      {isOpen && <div className={classes.foldBody}>{children()}</div>}
    </div>
  );
}
