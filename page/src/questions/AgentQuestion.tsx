import { Button, Textarea } from "@mantine/core";
import { useMemo, useRef, useState, type FormEvent, type KeyboardEvent, type RefObject } from "react";
import type { QuestionOf } from "../api/items";
import { AgreeButton } from "../approvals/AgreeButton";
import { inTime } from "../approvals/choices";
import { ARMING_MS, useArmed } from "../approvals/useArmed";
import { choicesOf, type Choice } from "../chat/data";
import { LongText } from "../chat/LongText";
import { useAnswer } from "../chat/useAnswer";
import { sends, useEnterSends } from "../composer/keys";
import { Seen } from "../servers/Plain";
import { useCommands, type Command } from "../shell/commands";
import { QuestionIcon } from "../shell/icons";
import { chosenBy, goToQuestion, permissionOf, type Permission } from "./question";
import classes from "./Questions.module.css";

/** Longer words are shown by their beginning. */
const LONG_CONTEXT = 1_500;

type Send = ReturnType<typeof useAnswer>["send"];

function Context({ words }: { words: string }) {
  if (!words) return null;
  if (words.length > LONG_CONTEXT) return <LongText text={words} label="What the agent adds" />;
  return (
    <p className={classes.context}>
      <Seen text={words} prose />
    </p>
  );
}

interface WordsProps {
  value: string;
  label: string;
  onChange: (value: string) => void;
  onSend?: () => void;
}

function Words({ value, label, onChange, onSend }: WordsProps) {
  const enterSends = useEnterSends();
  const onKeyDown = (event: KeyboardEvent) => {
    if (!onSend || !sends(event.nativeEvent, enterSends)) return;
    event.preventDefault();
    // The same keys send a message; this is an answer.
    event.stopPropagation();
    onSend();
  };
  return (
    <Textarea
      className={classes.words ?? ""}
      aria-label={label}
      placeholder={label}
      autosize
      minRows={1}
      maxRows={8}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      onKeyDown={onKeyDown}
    />
  );
}

/** Words of the person's own, alone or instead of a choice. */
function OwnWords({ label, isSending, send }: { label: string; isSending: boolean; send: Send }) {
  const [value, setValue] = useState("");
  const answer = () => value.trim() && send({ text: value.trim() });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    answer();
  };
  return (
    <form className={classes.form} onSubmit={submit}>
      <Words value={value} label={label} onChange={setValue} onSend={answer} />
      <Button type="submit" variant="default" loading={isSending} disabled={!value.trim()}>
        Answer
      </Button>
    </form>
  );
}

function Offered({ choices, isSending, send }: { choices: readonly Choice[]; isSending: boolean; send: Send }) {
  return (
    <div className={classes.choices} role="group" aria-label="Answers">
      {choices.map((choice, at) => (
        <Button
          key={choice.id}
          variant="default"
          size="compact-md"
          classNames={{ root: classes.choice ?? "", label: classes.choiceLabel ?? "" }}
          disabled={isSending}
          leftSection={at < 9 && <kbd aria-hidden>{at + 1}</kbd>}
          onClick={() => send({ choice: choice.id })}
        >
          {choice.label}
        </Button>
      ))}
    </div>
  );
}

interface PermissionProps {
  permission: Permission;
  card: RefObject<HTMLElement | null>;
  isSending: boolean;
  send: Send;
}

/** What agreeing would allow, for how long, and the two explicit answers; words may go along with either. */
function AskedPermission({ permission, card, isSending, send }: PermissionProps) {
  const [words, setWords] = useState("");
  const isArmed = useArmed(card, ARMING_MS);
  const along = words.trim() ? { text: words.trim() } : {};
  return (
    <>
      <p className={`ph-warning ${classes.permission}`}>
        Approving allows <code>{permission.operation}</code> in this conversation for {inTime(permission.duration)}, as often as the
        agent likes, also outside the working directory.
      </p>
      <Words value={words} label="A word to the agent, if you like" onChange={setWords} />
      <div className={classes.choices}>
        <AgreeButton isArmed={isArmed && !isSending} onAgree={() => send({ choice: "approve", ...along })}>
          {`Approve for ${inTime(permission.duration)}`}
        </AgreeButton>
        <Button variant="default" size="compact-md" disabled={isSending} onClick={() => send({ choice: "decline", ...along })}>
          Decline
        </Button>
      </div>
    </>
  );
}

/** A question of the agent's own: it waits, and nothing of the run goes on meanwhile. */
export function AgentQuestion({ item }: { item: QuestionOf<"collaboration"> }) {
  const card = useRef<HTMLElement>(null);
  const { isSending, send } = useAnswer(item);
  const choices = choicesOf(item);
  const permission = permissionOf(item);
  const { context = "" } = item.data;
  const commands = useMemo<Command[]>(
    () => [{ id: "agent-question", title: "Go to the agent’s question", keys: ["alt+q"], group: "Chat", run: goToQuestion }],
    [],
  );
  useCommands(commands);
  const onKeyDown = (event: KeyboardEvent) => {
    const choice = permission || isSending ? null : chosenBy(event, choices);
    if (!choice) return;
    event.preventDefault();
    send({ choice: choice.id });
  };
  return (
    <section ref={card} className={`ph-asking ${classes.card}`} data-question aria-label="Question from the agent" tabIndex={-1} onKeyDown={onKeyDown}>
      <h3 className={`ph-with-icon ph-question ${classes.title}`}>
        <QuestionIcon size={15} />
        <span>
          <Seen text={item.text} prose />
        </span>
      </h3>
      <Context words={context} />
      {permission ? (
        <AskedPermission permission={permission} card={card} isSending={isSending} send={send} />
      ) : (
        <>
          {choices.length > 0 && <Offered choices={choices} isSending={isSending} send={send} />}
          <OwnWords label={choices.length ? "Or in your own words" : "Your answer"} isSending={isSending} send={send} />
        </>
      )}
    </section>
  );
}
