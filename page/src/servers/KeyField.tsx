import { ActionIcon, PasswordInput, SegmentedControl, TextInput } from "@mantine/core";
import { useId } from "react";
import { CloseIcon } from "../shell/icons";
import classes from "./Keys.module.css";
import { Seen } from "./Plain";
import { emptied, isKept, TOKEN, type KeyDraft, type KeySource } from "./serverKeys";

export interface KeyFieldProps {
  field: KeyDraft;
  isUrl: boolean;
  /** Whether the form begins with it. */
  isFirst: boolean;
  error: string | undefined;
  onChange: (field: KeyDraft) => void;
  onRemove: () => void;
}

const sources = [
  { value: "paste", label: "Paste" },
  { value: "file", label: "File" },
  { value: "environment", label: "Environment" },
];
const signIn = { value: "sign-in", label: "Sign in" };

const hints: Record<KeySource, string> = {
  paste: "Kept as a secret, and given to this server only.",
  file: "Only the path is kept. The file is read at each start.",
  environment: "The name of a variable that Pilothouse itself was started with. Read at each start.",
  "sign-in": "You sign in with your browser once it is added.",
};

function hintOf(field: KeyDraft): string {
  const isOptional = field.id === TOKEN && field.from === "paste" && !field.isNeeded && !isKept(field);
  return isOptional ? `Only if you were given one. ${hints.paste}` : hints[field.from];
}

/** What a key is called: by its label, and one that is not known yet by what the person calls it. */
const titleOf = ({ label, name }: KeyDraft) => label || name.trim() || "this key";

function Value({ field, isFirst, error, id, onChange }: Omit<KeyFieldProps, "isUrl" | "onRemove"> & { id: string }) {
  const { from } = field;
  if (from === "sign-in") return null;
  const common = {
    id,
    className: classes.value ?? "",
    spellCheck: false,
    value: field.typed[from],
    error: error !== undefined,
    "aria-describedby": `${id}-about`,
    "aria-required": field.isNeeded || undefined,
    "data-autofocus": isFirst || undefined,
  };
  const type = (value: string) => onChange({ ...field, typed: { ...field.typed, [from]: value } });
  if (from === "paste") {
    return (
      <PasswordInput
        {...common}
        autoComplete="new-password"
        placeholder={isKept(field) ? "Kept. Paste to replace." : ""}
        visibilityToggleButtonProps={{ "aria-label": `Show ${titleOf(field)}`, tabIndex: 0 }}
        onChange={(event) => type(event.currentTarget.value)}
      />
    );
  }
  const example = from === "file" ? "~/.github_token" : "MY_TOKEN";
  return (
    <TextInput
      {...common}
      autoComplete="off"
      placeholder={example}
      classNames={{ input: "ph-mono" }}
      onChange={(event) => type(event.currentTarget.value)}
    />
  );
}

/** Leads to where a key is made. A stranger named the place, so its host is shown, and nothing else than a page is opened. */
function WhereToGet({ link, title }: { link: string; title: string }) {
  if (!URL.canParse(link) || new URL(link).protocol !== "https:") return null;
  return (
    <>
      {" "}
      <a href={link} target="_blank" rel="noopener noreferrer" className={classes.link}>
        Where to get it<span className="ph-hidden"> ({title})</span>: {new URL(link).host}
      </a>
    </>
  );
}

/** One key: what it is called, where it comes from, and the field for it. */
export function KeyField({ field, isUrl, isFirst, error, onChange, onRemove }: KeyFieldProps) {
  const id = useId();
  const title = titleOf(field);
  const isNamed = field.id === "";
  const what = isUrl ? "header" : "variable";
  const canGo = isNamed || field.kept !== "missing";
  return (
    <div data-key={field.id} className={classes.key}>
      <div className={classes.head}>
        {isNamed ? (
          <TextInput
            size="xs"
            className={classes.name}
            aria-label={`Name of the ${what}`}
            placeholder={`Name of the ${what}`}
            spellCheck={false}
            classNames={{ input: "ph-mono" }}
            value={field.name}
            onChange={(event) => onChange({ ...field, name: event.currentTarget.value })}
          />
        ) : (
          <label htmlFor={id} className={classes.label} data-needed={field.isNeeded || undefined}>
            {title}
          </label>
        )}
        <SegmentedControl
          size="xs"
          className={classes.sources}
          aria-label={`Where ${title} comes from`}
          data={field.id === TOKEN ? [...sources, signIn] : sources}
          value={field.from}
          onChange={(from) => onChange({ ...field, from: from as KeySource })}
        />
      </div>
      <div className={classes.line} data-key-value>
        <Value field={field} isFirst={isFirst} error={error} id={id} onChange={onChange} />
        {isNamed && (
          <label htmlFor={id} className="ph-hidden">
            Value of {title}
          </label>
        )}
        {canGo && (
          <ActionIcon aria-label={`Remove ${title}`} onClick={isNamed ? onRemove : () => onChange(emptied(field))}>
            <CloseIcon size={14} />
          </ActionIcon>
        )}
      </div>
      {error && (
        <p className="ph-field-error" role="alert">
          {error}
        </p>
      )}
      <p id={`${id}-about`} className={classes.about}>
        {field.about && (
          <span className={classes.words}>
            <Seen text={field.about} />
          </span>
        )}
        {hintOf(field)}
        <WhereToGet link={field.link} title={title} />
      </p>
    </div>
  );
}
