import { Button, Group, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import type { Item } from "../api/types";
import { settled } from "../calls/answers";
import { Elicitation } from "../calls/Elicitation";
import { AgentQuestion } from "../questions/AgentQuestion";
import { QuestionIcon } from "../shell/icons";
import classes from "./Chat.module.css";
import { answerOf, choicesOf } from "./data";
import { useAnswer } from "./useAnswer";

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
  if (answer === null && item.data.kind === "elicitation") return <Elicitation item={item} />;
  if (answer === null && item.data.kind === "collaboration") return <AgentQuestion item={item} />;
  return (
    <section className={classes.question} data-open={answer === null || undefined} aria-label="Question">
      <p className={classes.questionText}>
        <QuestionIcon size={15} />
        <span>
          {answer === null ? item.text : settled(item)}
        </span>
      </p>
      {answer === null && (choicesOf(item).length ? <ChoiceAnswer item={item} /> : <TextAnswer item={item} />)}
    </section>
  );
}
