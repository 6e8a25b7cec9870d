import { useEffect } from "react";
import { titleOf } from "../conversations/ConversationRow";
import { useApp } from "../store/store";

/** Draw the browser's tab: the conversation's name, and how many things wait for the person, also as a dot on the icon. */
export function useTab(): void {
  const title = useApp((state) => (state.open ? titleOf(state.open.conversation) : null));
  const waiting = useApp((state) => state.waiting.length);
  useEffect(() => {
    const name = title ? `${title} · Pilothouse` : "Pilothouse";
    document.title = waiting ? `(${waiting}) ${name}` : name;
  }, [title, waiting]);
  useEffect(() => {
    const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
    if (icon) icon.href = waiting ? "/icon-waiting.svg" : "/icon.svg";
  }, [waiting]);
}
