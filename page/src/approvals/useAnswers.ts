import { useState } from "react";
import { authority } from "../api/authority";
import { api } from "../api/client";
import type { Answer, Item } from "../api/types";
import { tell } from "../shell/messages";

/** Give several questions one answer; throws what the first that did not take it says. */
async function answerAll(items: readonly Item[], answer: Answer): Promise<void> {
  const { answers } = await authority.answerAll(items.map(({ id }) => id), answer);
  const refused = answers.find(({ taken }) => !taken);
  if (refused) throw new Error(refused.message);
}

/** Answer questions with one decision, once at a time. */
export function useAnswers(items: readonly Item[]) {
  const [isSending, setSending] = useState(false);
  const send = (answer: Answer) => {
    const [only, ...others] = items;
    if (!only || isSending) return;
    setSending(true);
    const sent = others.length ? answerAll(items, answer) : api.answer(only.id, answer);
    void sent.catch(tell).finally(() => setSending(false));
  };
  return { isSending, send };
}
