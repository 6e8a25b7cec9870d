import { useState } from "react";
import { api } from "../api/client";
import type { Answer, Item } from "../api/types";
import { tell } from "../shell/messages";

/** Answer a question once: what took the answer goes away with it, and only a refusal lets one answer again. */
export function useAnswer(item: Item) {
  const [isSending, setSending] = useState(false);
  const send = (answer: Answer) => {
    setSending(true);
    api.answer(item.id, answer).catch((error: unknown) => {
      setSending(false);
      tell(error);
    });
  };
  return { isSending, send };
}
