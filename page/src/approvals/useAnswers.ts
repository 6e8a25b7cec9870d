import { useState } from "react";
import { authority } from "../api/authority";
import { api } from "../api/client";
import type { Answer, Item } from "../api/types";
import { tell } from "../shell/messages";

/** Answer questions with one decision, once at a time. */
export function useAnswers(items: readonly Item[]) {
  const [isSending, setSending] = useState(false);
  const send = (answer: Answer) => {
    const [only, ...others] = items;
    if (!only || isSending) return;
    setSending(true);
    const sent = others.length ? authority.answerAll(items.map(({ id }) => id), answer) : api.answer(only.id, answer);
    sent.catch(tell).finally(() => setSending(false));
  };
  return { isSending, send };
}
