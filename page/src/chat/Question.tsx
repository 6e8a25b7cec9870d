import { Button, Group, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { api } from "../api/client";
import type { Answer, Item } from "../api/types";
import { QuestionIcon } from "../shell/icons";
import { tell } from "../shell/messages";
import classes from "./Chat.module.css";
import { answerOf, choicesOf } from "./data";

function useAnswer(item: Item) {
  const [isSending, setSending] = useState(false);
  const send = (answer: Answer) => {
    setSending(true);
    api
      .answer(item.id, answer)
      .catch(tell)
      .finally(() => setSending(false));
  };
  return { isSending, send };
}

function TextAnswer({ item }: { item: Item }) {
  const [value, setValue] = useState("");
  const { isSending, send } = useAnswer(item);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (value.trim()) send({ text: value.trim() });
  };
  return (
    <form onSubmit={submit} className={classes.answerForm}>
      <TextInput
        aria-label="Your answer"
        className={classes.grow}
        value={value}
        onChange={(event) => setValue(event.currentTarget.value)}
      />
      <Button type="submit" loading={isSending} disabled={!value.trim()}>
        Answer
      </Button>
    </form>
  );
}

function ChoiceAnswer({ item }: { item: Item }) {
  const { isSending, send } = useAnswer(item);
  return (
    <Group gap="xs">
      {choicesOf(item).map((choice, at) => (
        <Button
          key={choice.id}
          size="compact-md"
          variant={at === 0 ? "filled" : "default"}
          disabled={isSending}
          onClick={() => send({ choice: choice.id })}
        >
          {choice.label}
        </Button>
      ))}
    </Group>
  );
}

/** Something only the person can say; the run waits for it. */
export function Question({ item }: { item: Item }) {
  const answer = answerOf(item);
  return (
    <section className={classes.question} data-open={answer === null || undefined} aria-label="Question">
      <p className={classes.questionText}>
        <QuestionIcon size={15} />
        <span>
          {item.text}
          {answer !== null && ` You answered: ${answer}.`}
        </span>
      </p>
      {answer === null && (choicesOf(item).length ? <ChoiceAnswer item={item} /> : <TextAnswer item={item} />)}
    </section>
  );
}
