import { ActionIcon, Button, Menu, TextInput } from "@mantine/core";
import { useEffect, useRef, useState, type FormEvent, type KeyboardEvent } from "react";
import type { Answer } from "../api/types";
import type { Choice } from "../chat/data";
import { inWords, type Pattern } from "../policy/pattern";
import { PatternFields } from "../policy/PatternFields";
import { ChevronDownIcon } from "../shell/icons";
import { Said } from "../shell/Said";
import { AgreeButton, AgreeItem } from "./AgreeButton";
import classes from "./Approvals.module.css";
import { denied, lasting, lastingOf, once } from "./choices";
import { ARMING_MS, useArmed } from "./useArmed";

export interface Decidable {
  /** What may be answered, as the server offers it. */
  choices: readonly Choice[];
  dangerous: string;
  /** What a lasting permission would cover. */
  proposal: Pattern | null;
  /** How many calls are decided about. */
  count: number;
}

/** Everything else that waits and may be allowed together with it. */
export interface Together {
  count: number;
  onAllow: () => void;
}

interface AlwaysProps {
  proposal: Pattern;
  isSending: boolean;
  onAllow: (pattern: Pattern) => void;
  onCancel: () => void;
}

/** The rule that would be kept, to be narrowed or widened first. */
export function Always({ proposal, isSending, onAllow, onCancel }: AlwaysProps) {
  const [pattern, setPattern] = useState(proposal);
  const editor = useRef<HTMLDivElement>(null);
  const isArmed = useArmed(editor, ARMING_MS);
  useEffect(() => editor.current?.focus(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    // Elsewhere this key stops the answer.
    event.stopPropagation();
    onCancel();
  };
  return (
    <div
      ref={editor}
      className={classes.editor}
      role="group"
      aria-label="Always allow this pattern"
      tabIndex={-1}
      onKeyDown={onKeyDown}
    >
      <div className={classes.fields}>
        <PatternFields pattern={pattern} onChange={setPattern} />
        <p className={classes.hint}>
          <Said text="The rule is kept for all conversations; Settings, Permissions shows and removes it." />
        </p>
      </div>
      <div className={classes.buttons}>
        <AgreeButton isArmed={isArmed} disabled={isSending || !pattern.tool} onAgree={() => onAllow(pattern)}>
          Always allow this
        </AgreeButton>
        <Button size="compact-md" variant="default" onClick={onCancel}>
          Back
        </Button>
      </div>
    </div>
  );
}

interface ChoicesProps {
  what: Decidable;
  isArmed: boolean;
  isSending: boolean;
  together: Together | null;
  onAnswer: (answer: Answer) => void;
  /** The rule that would be kept is to be looked at first. */
  onAlways: () => void;
}

/** A choice, and how far it reaches. */
function Reach({ choice: { label, note } }: { choice: Choice }) {
  return (
    <>
      {label}
      {note && <span className={classes.reach}>{note}</span>}
    </>
  );
}

/** What allows more than the calls in question: whatever the server offers. */
function Lasting({ what, isArmed, isSending, onAnswer, onAlways }: ChoicesProps) {
  const offered = lastingOf(what.choices);
  if (!offered.length) return null;
  return (
    <Menu position="top-start" width="auto">
      <Menu.Target>
        <ActionIcon className={classes.splitMore} variant="filled" color="sea" aria-label="Allow for longer" disabled={isSending}>
          <ChevronDownIcon size={14} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown className={classes.menu}>
        {what.proposal && <Menu.Label className={classes.covers}>Would cover: {inWords(what.proposal)}</Menu.Label>}
        {offered.map((choice) =>
          choice.id === "always" && what.proposal ? (
            <Menu.Item key={choice.id} onClick={onAlways}>
              <Reach choice={{ ...choice, label: `${choice.label}…` }} />
            </Menu.Item>
          ) : (
            <AgreeItem
              key={choice.id}
              isArmed={isArmed && !isSending}
              // Of several calls the pattern is the page's own: it covers them all.
              onAgree={() => onAnswer(lasting(choice.id, what.count > 1 ? what.proposal : null))}
            >
              <Reach choice={choice} />
            </AgreeItem>
          ),
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

function Allow(props: ChoicesProps) {
  const { what, isArmed, isSending, onAnswer } = props;
  const isDangerous = what.dangerous !== "";
  const hasMore = lastingOf(what.choices).length > 0;
  return (
    <span className={classes.split}>
      <AgreeButton
        {...(hasMore && { className: classes.splitMain ?? "" })}
        variant={isDangerous ? "outline" : "filled"}
        {...(isDangerous && { color: "red" })}
        isArmed={isArmed}
        isDangerous={isDangerous}
        disabled={isSending}
        onAgree={() => onAnswer(once)}
      >
        {what.count > 1 ? `Allow these ${what.count}` : "Allow"}
        {!isDangerous && (
          <kbd className={classes.enter} aria-hidden>
            ↵
          </kbd>
        )}
      </AgreeButton>
      <Lasting {...props} />
    </span>
  );
}

function Deny({ what, isSending, onDeny }: { what: Decidable; isSending: boolean; onDeny: () => void }) {
  const isDangerous = what.dangerous !== "";
  return (
    <Button
      size="compact-md"
      variant={isDangerous ? "filled" : "default"}
      {...(isDangerous && { color: "red" })}
      data-deny
      disabled={isSending}
      onClick={onDeny}
    >
      {what.count > 1 ? `Deny these ${what.count}` : "Deny"}
    </Button>
  );
}

/** What can be answered, in one row: what is dangerous begins with the way out of it, and words go along with a no. */
export function Choices(props: ChoicesProps) {
  const { what, isArmed, isSending, together, onAnswer } = props;
  const [words, setWords] = useState("");
  const deny = () => onAnswer(denied(words));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (words.trim()) deny();
  };
  const no = <Deny what={what} isSending={isSending} onDeny={deny} />;
  return (
    <div className={classes.buttons}>
      {what.dangerous ? no : <Allow {...props} />}
      {what.dangerous ? <Allow {...props} /> : no}
      {together && (
        <AgreeButton variant="default" isArmed={isArmed} disabled={isSending} onAgree={together.onAllow}>
          {`Allow all ${together.count}`}
        </AgreeButton>
      )}
      <form className={classes.instead} onSubmit={submit}>
        <TextInput
          size="xs"
          aria-label="Or say what to do instead"
          placeholder="or say what to do instead"
          maxLength={2_000}
          disabled={isSending}
          value={words}
          onChange={(event) => setWords(event.currentTarget.value)}
        />
      </form>
    </div>
  );
}
