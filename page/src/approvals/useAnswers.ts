import { useState } from "react";
import { authority } from "../api/authority";
import { api } from "../api/client";
import type { Answer, QuestionItem } from "../api/types";
import { tell } from "../shell/messages";
import { lookAgain } from "./waiting";

/** Give several questions one answer; throws what the first that did not take it says. */
async function answerAll(items: readonly QuestionItem[], answer: Answer): Promise<void> {
  const { answers } = await authority.answerAll(items.map(({ id }) => id), answer);
  const refused = answers.find(({ taken }) => !taken);
  if (refused) throw new Error(refused.message);
}

/** Answer questions with one decision, once: only a refusal lets one answer again. */
export function useAnswers(items: readonly QuestionItem[]) {
  const [sent, setSent] = useState<readonly string[]>([]);
  // Until they are gone; others may have come since.
  const isSending = items.some(({ id }) => sent.includes(id));
  const send = (answer: Answer) => {
    const [only, ...others] = items;
    if (!only || isSending) return;
    setSent(items.map(({ id }) => id));
    const taken = others.length ? answerAll(items, answer) : api.answer(only.id, answer);
    taken.then(lookAgain, (error: unknown) => {
      setSent([]);
      tell(error);
    });
  };
  return { isSending, send };
}
