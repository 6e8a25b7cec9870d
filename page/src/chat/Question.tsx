import { Button, Group, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { asks, isOpen } from "../api/items";
import type { QuestionItem } from "../api/types";
import { settled } from "../calls/answers";
import { Elicitation } from "../calls/Elicitation";
import { AgentQuestion } from "../questions/AgentQuestion";
import { QuestionIcon } from "../shell/icons";
import { PageLink } from "../shell/links";
import { settingsPath } from "../shell/router";
import { Said } from "../shell/Said";
import { activeRun } from "../store/conversation";
import { useApp } from "../store/store";
import classes from "./Chat.module.css";
import { choicesOf } from "./data";
import { useAnswer } from "./useAnswer";

function TextAnswer({ item }: { item: QuestionItem }) {
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

/** Limits that the person set as budgets. */
const budgets = new Set(["run_budget", "day_budget", "tokens"]);

const isAboutBudget = (item: QuestionItem) => asks(item, "limit") && budgets.has(item.data.reason ?? "");

function ChoiceAnswer({ item }: { item: QuestionItem }) {
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
      {isAboutBudget(item) && (
        <PageLink path={settingsPath("usage")} className={classes.budgets}>
          Change the budgets
        </PageLink>
      )}
    </Group>
  );
}

/** Something only the person can say; the run waits for it. */
export function Question({ item }: { item: QuestionItem }) {
  if (asks(item, "elicitation")) return <Elicitation item={item} />;
  if (asks(item, "collaboration")) return <AgentQuestion item={item} />;
  return (
    <section className="ph-asking" aria-label="Question" tabIndex={-1}>
      <p className={`ph-with-icon ${classes.questionText}`}>
        <QuestionIcon size={15} />
        {/* About a limit we ask in our own words, which may name a place of the page. */}
        <span>{asks(item, "limit") ? <Said text={item.text} /> : item.text}</span>
      </p>
      {choicesOf(item).length ? <ChoiceAnswer item={item} /> : <TextAnswer item={item} />}
    </section>
  );
}

/** How a question ended: one quiet line. While it is open it stands above the message box. */
export function AnsweredQuestion({ item }: { item: QuestionItem }) {
  // While the run waits for it, it stands above the message box.
  const isDocked = useApp(({ open }) => isOpen(item) && activeRun(open)?.id === item.runId);
  if (isDocked) return null;
  return (
    <section className={classes.settled} aria-label="Question" data-settled={item.id} tabIndex={-1}>
      <p className={`ph-with-icon ${classes.questionText}`}>
        <QuestionIcon size={15} />
        <span>{settled(item)}</span>
      </p>
    </section>
  );
}
