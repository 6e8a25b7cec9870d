import { useState } from "react";
import { api } from "../api/client";
import type { Answer, QuestionItem } from "../api/types";
import { lookAgain } from "../approvals/waiting";
import { tell } from "../shell/messages";

/** Answer a question once: what took the answer goes away with it, and only a refusal lets one answer again. */
export function useAnswer(item: QuestionItem) {
  const [isSending, setSending] = useState(false);
  const send = (answer: Answer) => {
    setSending(true);
    api.answer(item.id, answer).then(lookAgain, (error: unknown) => {
      setSending(false);
      tell(error);
    });
  };
  return { isSending, send };
}
