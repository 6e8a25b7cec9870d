import { ActionIcon, Button, TextInput } from "@mantine/core";
import { CloseIcon, PlusIcon } from "../shell/icons";
import classes from "./Dialogs.module.css";
import { newPair, type Pair } from "./serverDraft";

interface PairFieldsProps {
  label: string;
  what: "variable" | "header";
  pairs: readonly Pair[];
  error: string | undefined;
  onChange: (pairs: Pair[]) => void;
  /** Keep one as a secret instead. */
  onSecret: (pair: Pair) => void;
}

/** Names of what nobody else should read. */
const SECRET = /(token|secret|passw(or)?d|api[_-]?key|_key|_pat|^authorization)$/i;

interface RowProps {
  pair: Pair;
  what: string;
  onChange: (pair: Pair) => void;
  onRemove: () => void;
  onSecret: () => void;
}

function Row({ pair, what, onChange, onRemove, onSecret }: RowProps) {
  const name = pair.name.trim() || `this ${what}`;
  return (
    <li className={classes.pairRow}>
      <TextInput
        size="xs"
        className={classes.pairName}
        aria-label={`Name of the ${what}`}
        placeholder="Name"
        spellCheck={false}
        value={pair.name}
        onChange={(event) => onChange({ ...pair, name: event.currentTarget.value })}
      />
      <TextInput
        size="xs"
        className={classes.pairValue}
        aria-label={`Value of ${name}`}
        placeholder="Value"
        spellCheck={false}
        value={pair.value}
        onChange={(event) => onChange({ ...pair, value: event.currentTarget.value })}
      />
      <ActionIcon size="sm" aria-label={`Remove ${name}`} onClick={onRemove}>
        <CloseIcon size={14} />
      </ActionIcon>
      {SECRET.test(pair.name.trim()) && pair.value && !pair.value.includes("${") && (
        <p role="status" className={classes.suspicion}>
          This looks like a secret.
          <Button size="compact-xs" variant="default" onClick={onSecret}>
            Keep it as a key
          </Button>
        </p>
      )}
    </li>
  );
}

/** Rows of names and values that anyone may read. */
export function PairFields({ label, what, pairs, error, onChange, onSecret }: PairFieldsProps) {
  return (
    <fieldset className={`ph-fieldset ${classes.group}`} data-invalid={error ? true : undefined}>
      <legend>{label}</legend>
      <p className={classes.hint}>Kept readable. What is secret belongs to the keys above.</p>
      <ul className={classes.pairs}>
        {pairs.map((pair) => (
          <Row
            key={pair.key}
            pair={pair}
            what={what}
            onChange={(next) => onChange(pairs.map((other) => (other.key === next.key ? next : other)))}
            onRemove={() => onChange(pairs.filter((other) => other.key !== pair.key))}
            onSecret={() => onSecret(pair)}
          />
        ))}
      </ul>
      {error && (
        <p className="ph-field-error" role="alert">
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
