import classes from "./Composer.module.css";
import type { BoxCommand } from "./commands";

interface CommandHintsProps {
  hints: readonly BoxCommand[];
  onChoose: (command: BoxCommand) => void;
}

/** The commands that what was typed is the beginning of; a click or Tab puts one into the box. */
export function CommandHints({ hints, onChoose }: CommandHintsProps) {
  if (!hints.length) return null;
  return (
    <ul className={classes.hints} aria-label="Commands">
      {hints.map((hint) => (
        <li key={hint.name}>
          {/* The box keeps the focus. */}
          <button type="button" onMouseDown={(event) => event.preventDefault()} onClick={() => onChoose(hint)}>
            <code>{hint.name}</code> <span className={classes.takes}>{hint.takes}</span>
            <span className={classes.about}>{hint.about}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
