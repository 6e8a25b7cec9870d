import classes from "./Composer.module.css";
import type { BoxCommand } from "./commands";

interface CommandHintsProps {
  hints: readonly BoxCommand[];
  onChoose: (text: string) => void;
}

/** The commands that what was typed is the beginning of; a click or Tab puts one into the box. */
export function CommandHints({ hints, onChoose }: CommandHintsProps) {
  if (!hints.length) return null;
  return (
    <ul className={classes.hints} aria-label="Commands">
      {hints.map(({ name, takes, about }) => (
        <li key={name}>
          {/* The box keeps the focus. */}
          <button type="button" onMouseDown={(event) => event.preventDefault()} onClick={() => onChoose(`${name} `)}>
            <code>{name}</code> <span className={classes.takes}>{takes}</span>
            <span className={classes.about}>{about}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
