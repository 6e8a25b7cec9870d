import type { Proposal } from "../api/types";
import dialogs from "../servers/Dialogs.module.css";
import { KeyField } from "../servers/KeyField";
import classes from "../servers/Keys.module.css";
import { fits, type KeyDraft } from "../servers/serverKeys";
import { isDescribed, isUrl } from "./proposalDraft";

interface ProposedKeysProps {
  proposal: Proposal;
  keys: KeyDraft[];
  errors: Record<string, string | undefined>;
  onChange: (keys: KeyDraft[]) => void;
}

/** What is said of the keys before any field. */
function lead(proposal: Proposal, count: number): string {
  if (proposal.authType === "oauth" && isUrl(proposal)) return "You sign in with your browser once it is added.";
  if (count > 0) return "";
  return proposal.authType === "none" && isDescribed(proposal) ? "No authentication required." : "Check finds out which keys it needs.";
}

/** The keys of a proposal, by what they are called. */
export function ProposedKeys({ proposal, keys, errors, onChange }: ProposedKeysProps) {
  const url = isUrl(proposal);
  const shown = keys.filter((key) => fits(key, url));
  const said = lead(proposal, shown.length);
  return (
    <fieldset className={`ph-fieldset ${dialogs.group} ${classes.keys}`}>
      <legend className="ph-hidden">Keys</legend>
      {said && <p className="ph-lead">{said}</p>}
      {shown.map((field) => (
        <KeyField
          key={field.row}
          field={field}
          isUrl={url}
          isFirst={false}
          error={errors[`key ${field.row}`]}
          onChange={(next) => onChange(keys.map((other) => (other.row === next.row ? next : other)))}
          onRemove={() => onChange(keys.filter(({ row }) => row !== field.row))}
        />
      ))}
    </fieldset>
  );
}
