import { ActionIcon, Button, Menu, TextInput } from "@mantine/core";
import { useEffect, useRef, useState, type FormEvent, type RefObject } from "react";
import type { Answer } from "../api/types";
import { inWords, type Pattern } from "../policy/pattern";
import { PatternFields } from "../policy/PatternFields";
import { ChevronDownIcon } from "../shell/icons";
import { Said } from "../shell/Said";
import { AgreeButton } from "./AgreeButton";
import classes from "./Approvals.module.css";
import { always, denied, durations, forAWhile, inTime, once, type Duration } from "./choices";
import { ARMING_MS, DANGEROUS_ARMING_MS, useArmed } from "./useArmed";

export interface Decidable {
  /** What may be answered. */
  choices: ReadonlySet<string>;
  dangerous: string;
  /** What a lasting permission would cover. */
  proposal: Pattern | null;
  /** How many calls are decided about. */
  count: number;
}

interface ChoicesProps {
  what: Decidable;
  card: RefObject<HTMLElement | null>;
  isSending: boolean;
  onAnswer: (answer: Answer) => void;
}

interface WhileProps {
  isArmed: boolean;
  isSending: boolean;
  onAllow: (duration: Duration) => void;
}

/** Leave for a while; how long is chosen beside it. */
function ForAWhile({ isArmed, isSending, onAllow }: WhileProps) {
  const [duration, setDuration] = useState<Duration>("5m");
  return (
    <span className={classes.split}>
      <AgreeButton
        className={classes.splitMain}
        variant="default"
        isArmed={isArmed}
        disabled={isSending}
        onAgree={() => onAllow(duration)}
      >
        {`In this conversation for ${inTime(duration)}`}
      </AgreeButton>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon className={classes.splitMore} variant="default" aria-label="For how long" disabled={isSending}>
            <ChevronDownIcon size={14} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {durations.map(([id, name]) => (
            <Menu.RadioItem key={id} value={id} checked={id === duration} closeMenuOnClick onChange={() => setDuration(id)}>
              {name}
            </Menu.RadioItem>
          ))}
        </Menu.Dropdown>
      </Menu>
    </span>
  );
}

interface AlwaysProps {
  proposal: Pattern;
  isSending: boolean;
  onAllow: (pattern: Pattern) => void;
  onCancel: () => void;
}

/** The rule that would be kept, to be narrowed or widened first. */
function Always({ proposal, isSending, onAllow, onCancel }: AlwaysProps) {
  const [pattern, setPattern] = useState(proposal);
  const editor = useRef<HTMLDivElement>(null);
  const isArmed = useArmed(editor, ARMING_MS);
  useEffect(() => editor.current?.focus(), []);
  return (
    <div ref={editor} className={classes.editor} role="group" aria-label="Always allow this pattern" tabIndex={-1}>
      <PatternFields pattern={pattern} onChange={setPattern} />
      <div className={classes.buttons}>
        <AgreeButton isArmed={isArmed} disabled={isSending || !pattern.tool} onAgree={() => onAllow(pattern)}>
          Always allow this
        </AgreeButton>
        <Button size="compact-md" variant="default" onClick={onCancel}>
          Back
        </Button>
      </div>
      <p className={classes.hint}>
        <Said text="The rule is kept for all conversations; Settings, Permissions shows and removes it." />
      </p>
    </div>
  );
}

/** Why not, in words that reach the model. */
function Reason({ isSending, onDeny, onCancel }: { isSending: boolean; onDeny: (reason: string) => void; onCancel: () => void }) {
  const [reason, setReason] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onDeny(reason);
  };
  return (
    <form className={classes.reason} onSubmit={submit}>
      <TextInput
        className={classes.grow}
        label="Why not? The model reads this."
        placeholder="Use the existing file instead"
        maxLength={2_000}
        autoFocus
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
      <Button type="submit" size="compact-md" color="red" disabled={isSending}>
        Deny
      </Button>
      <Button size="compact-md" variant="default" onClick={onCancel}>
        Back
      </Button>
    </form>
  );
}

type Step = "choose" | "always" | "reason";

interface ButtonsProps extends Omit<ChoicesProps, "card"> {
  isArmed: boolean;
  onStep: (step: Step) => void;
}

function Deny({ what, isSending, onAnswer, onStep }: ButtonsProps) {
  const isDangerous = what.dangerous !== "";
  return (
    <>
      <Button
        size="compact-md"
        variant={isDangerous ? "filled" : "default"}
        {...(isDangerous && { color: "red" })}
        data-deny
        disabled={isSending}
        onClick={() => onAnswer(denied(""))}
      >
        {what.count > 1 ? "Deny all" : "Deny"}
      </Button>
      <Button size="compact-md" variant="subtle" color="gray" disabled={isSending} onClick={() => onStep("reason")}>
        Deny with a reason…
      </Button>
    </>
  );
}

function Allow({ what, isArmed, isSending, onAnswer }: ButtonsProps) {
  const isDangerous = what.dangerous !== "";
  return (
    <AgreeButton
      variant={isDangerous ? "outline" : "filled"}
      {...(isDangerous && { color: "red" })}
      isArmed={isArmed}
      isDangerous={isDangerous}
      disabled={isSending}
      onAgree={() => onAnswer(once)}
    >
      {what.count > 1 ? `Allow all ${what.count} once` : "Allow once"}
    </AgreeButton>
  );
}

/** What allows more than the calls in question. */
function Lasting({ what, isArmed, isSending, onAnswer, onStep }: ButtonsProps) {
  const { choices, proposal } = what;
  return (
    <>
      {choices.has("conversation") && (
        <ForAWhile
          isArmed={isArmed}
          isSending={isSending}
          onAllow={(duration) => onAnswer(forAWhile(duration, proposal))}
        />
      )}
      {choices.has("always") && proposal && (
        <Button size="compact-md" variant="default" disabled={isSending} onClick={() => onStep("always")}>
          Always for this pattern…
        </Button>
      )}
    </>
  );
}

/** The buttons in their order: what is dangerous begins with the way out of it. */
function Buttons(props: ButtonsProps) {
  const { dangerous, proposal, choices } = props.what;
  return (
    <>
      <div className={classes.buttons}>
        {dangerous ? <Deny {...props} /> : <Allow {...props} />}
        <Lasting {...props} />
        {dangerous ? <Allow {...props} /> : <Deny {...props} />}
      </div>
      {dangerous && <p className={classes.hint}>Enter does not allow this; click, or press the space bar on the button.</p>}
      {proposal && (choices.has("conversation") || choices.has("always")) && (
        <p className={classes.hint}>For a while, and always, would cover: {inWords(proposal)}.</p>
      )}
    </>
  );
}

/** What can be answered. Nothing here has the focus by itself, and what agrees waits until it can have been read. */
export function Choices({ what, card, isSending, onAnswer }: ChoicesProps) {
  const [step, setStep] = useState<Step>("choose");
  const isArmed = useArmed(card, what.dangerous ? DANGEROUS_ARMING_MS : ARMING_MS);
  const back = () => setStep("choose");
  if (step === "always" && what.proposal) {
    const allow = (pattern: Pattern) => onAnswer(always(pattern));
    return <Always proposal={what.proposal} isSending={isSending} onAllow={allow} onCancel={back} />;
  }
  if (step === "reason") return <Reason isSending={isSending} onDeny={(reason) => onAnswer(denied(reason))} onCancel={back} />;
  return <Buttons what={what} isArmed={isArmed} isSending={isSending} onAnswer={onAnswer} onStep={setStep} />;
}
