import { useState } from "react";
import { api } from "../api/client";
import type { Answer, Item } from "../api/types";
import { tell } from "../shell/messages";

/** Answer a question, once at a time. */
export function useAnswer(item: Item) {
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
