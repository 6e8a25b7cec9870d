import { Button } from "@mantine/core";
import { PlusIcon } from "../shell/icons";
import { understand } from "./commandLine";
import dialogs from "./Dialogs.module.css";
import { KeyField } from "./KeyField";
import classes from "./Keys.module.css";
import type { DraftErrors, ServerDraft } from "./serverDraft";
import { fits, namedKey, type KeyDraft } from "./serverKeys";

export interface KeyFieldsProps {
  draft: ServerDraft;
  errors: DraftErrors;
  /** The key to begin with. */
  at: string | null;
  /** It answers, and without any. */
  needsNone: boolean;
  onChange: (draft: ServerDraft) => void;
}

/** The keys of a server by what they are called; nobody has to know the names of variables. */
export function KeyFields({ draft, errors, at, needsNone, onChange }: KeyFieldsProps) {
  const isUrl = understand(draft.line).kind === "url";
  const shown = draft.keys.filter((key) => fits(key, isUrl));
  const change = (keys: KeyDraft[]) => onChange({ ...draft, keys });
  return (
    <fieldset className={`ph-fieldset ${dialogs.group} ${classes.keys}`}>
      {/* The fields say by themselves what they are for. */}
      <legend className={shown.length ? "ph-hidden" : undefined}>Keys</legend>
      {needsNone && <p className="ph-lead">No authentication required.</p>}
      {shown.length === 0 && !needsNone && <p className="ph-lead">Check finds out which ones it needs.</p>}
      {shown.map((field) => (
        <KeyField
          key={field.row}
          field={field}
          isUrl={isUrl}
          isFirst={field.id === at}
          error={errors[`key ${field.row}`]}
          onChange={(next) => change(draft.keys.map((other) => (other.row === next.row ? next : other)))}
          onRemove={() => change(draft.keys.filter(({ row }) => row !== field.row))}
        />
      ))}
      <Button
        size="compact-xs"
        variant="default"
        className={classes.add}
        leftSection={<PlusIcon size={13} />}
        onClick={() => change([...draft.keys, namedKey()])}
      >
        Add a key…
      </Button>
    </fieldset>
  );
}
