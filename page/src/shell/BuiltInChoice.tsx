import { Checkbox } from "@mantine/core";
import { useApp } from "../store/store";
import { toggleBuiltIn } from "./builtIn";
import classes from "./ToolChoice.module.css";
import { useFolder } from "./useFolder";

interface BuiltInChoiceProps {
  /** The names of those that are used; null for all that fit. */
  value: readonly string[] | null;
  onChange: (next: string[] | null) => void;
}

/** Which of the built-in tools this conversation uses. */
export function BuiltInChoice({ value, onChange }: BuiltInChoiceProps) {
  const folder = useFolder();
  const tools = useApp((state) => state.builtInTools);
  const hasPlugins = useApp((state) => (state.config?.plugins ?? []).length > 0);
  return (
    <fieldset className="ph-fieldset">
      <legend>Built-in tools</legend>
      {!folder && <p className={classes.note}>Files, commands and git are offered once there is a working directory.</p>}
      <ul className={classes.whole}>
        {tools.map(({ name, label, note, needsFolder }) => (
          <li key={name}>
            <Checkbox
              size="xs"
              classNames={{ description: classes.about ?? "" }}
              label={label}
              description={needsFolder && !folder ? `${note} Needs a working directory.` : note}
              checked={value === null || value.includes(name)}
              onChange={() => onChange(toggleBuiltIn(tools, value, name))}
            />
          </li>
        ))}
      </ul>
      {hasPlugins && value !== null && <p className={classes.note}>Tools of plugins are used only while all of these are.</p>}
    </fieldset>
  );
}
