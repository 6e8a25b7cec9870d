import { ActionIcon, Button, Checkbox, PasswordInput, TextInput } from "@mantine/core";
import { CloseIcon, PlusIcon } from "../shell/icons";
import classes from "./Dialogs.module.css";
import { newPair, type Pair } from "./serverDraft";

interface PairFieldsProps {
  label: string;
  what: "variable" | "header";
  pairs: readonly Pair[];
  error: string | undefined;
  onChange: (pairs: Pair[]) => void;
}

interface RowProps {
  pair: Pair;
  what: string;
  onChange: (pair: Pair) => void;
  onRemove: () => void;
}

function Row({ pair, what, onChange, onRemove }: RowProps) {
  const name = pair.name.trim() || `this ${what}`;
  const value = {
    "aria-label": `Value of ${name}`,
    placeholder: pair.isKept ? "Kept; type to replace" : "Value",
    size: "xs" as const,
    spellCheck: false,
    value: pair.value,
  };
  return (
    <li className={classes.pairRow}>
      <TextInput
        size="xs"
        className={classes.pairName}
        aria-label={`Name of the ${what}`}
        placeholder="Name"
        spellCheck={false}
        value={pair.name}
        onChange={(event) => onChange({ ...pair, name: event.currentTarget.value, isKept: false })}
      />
      {pair.isSecret ? (
        <PasswordInput
          {...value}
          className={classes.pairValue}
          autoComplete="new-password"
          visibilityToggleButtonProps={{ "aria-label": `Show the value of ${name}`, tabIndex: 0 }}
          onChange={(event) => onChange({ ...pair, value: event.currentTarget.value })}
        />
      ) : (
        <TextInput {...value} className={classes.pairValue} onChange={(event) => onChange({ ...pair, value: event.currentTarget.value })} />
      )}
      <Checkbox
        size="xs"
        label="Secret"
        checked={pair.isSecret}
        onChange={(event) => onChange({ ...pair, isSecret: event.currentTarget.checked, isKept: pair.isKept && event.currentTarget.checked })}
      />
      <ActionIcon size="sm" aria-label={`Remove ${name}`} onClick={onRemove}>
        <CloseIcon size={14} />
      </ActionIcon>
    </li>
  );
}

/** Rows of names and values; a secret's value is typed once and never shown again. */
export function PairFields({ label, what, pairs, error, onChange }: PairFieldsProps) {
  return (
    <fieldset className={classes.group} data-invalid={error ? true : undefined}>
      <legend className={classes.legend}>{label}</legend>
      <ul className={classes.pairs}>
        {pairs.map((pair) => (
          <Row
            key={pair.key}
            pair={pair}
            what={what}
            onChange={(next) => onChange(pairs.map((other) => (other.key === next.key ? next : other)))}
            onRemove={() => onChange(pairs.filter((other) => other.key !== pair.key))}
          />
        ))}
      </ul>
      {error && (
        <p className={classes.error} role="alert">
          {error}
        </p>
      )}
      <Button
        size="compact-xs"
        variant="default"
        leftSection={<PlusIcon size={13} />}
        onClick={() => onChange([...pairs, newPair()])}
      >
        Add a {what}
      </Button>
    </fieldset>
  );
}
